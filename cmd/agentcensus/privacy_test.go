package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentcensus/pipeline/simweb"
	"agentcensus/sink"
)

// A complete crawl of sites of every sort keeps no name of one without a card:
// in no string column of a Parquet file, in no other file under the output
// directory and in no line of the log. The same search finds a name that is
// there (P10).
func TestNoNameWithoutACardIsKept(t *testing.T) {
	t.Parallel()
	s := newCensus(t, simweb.Config{Seed: 81, Profile: simweb.Flat, CardShare: 0.1, Log: simweb.LogMemory}, 300)
	s.inFlight = 60
	p := s.crawl(t, "--log-json")
	p.ends(t, exitComplete, "is complete")
	logs := []string{p.out.String(), p.err.String()}
	s.provePrivate(t, logs)
	s.proveTidy(t)

	cards := rows[sink.Card](t, s.out)
	if len(cards) == 0 {
		t.Fatal("no card in this web: its absence in the search tells nothing")
	}
	if l := s.leaksOf(t, nil, func(string) bool { return true }); !slices.ContainsFunc(l, func(leak string) bool {
		return strings.HasSuffix(leak, "cards.parquet site: "+cards[0].Site)
	}) {
		t.Errorf("the publishers' names are not found where they are: %v", l)
	}
	var secret string
	for name := range s.withoutCards() {
		if strings.HasSuffix(name, ".test") && !strings.HasPrefix(name, "www.") {
			secret = name
		}
	}

	find := func(where, leak string) {
		t.Helper()
		if found := s.leaks(t, logs); !slices.Contains(found, where+": "+leak) {
			t.Errorf("planted in %s and not found: %v", where, found)
		}
	}
	logs = append(logs, `{"level":"INFO","url":"https://www.`+secret+`/x"}`)
	find("log", "www."+secret)

	logs = logs[:2]
	writeFile(t, filepath.Join(s.out, "views.sql"), "-- "+secret+"\n")
	find("views.sql", secret)

	writeFile(t, filepath.Join(s.out, "views.sql"), "")
	file, err := sink.Files(s.out, "cards")
	if err != nil || len(file) != 1 {
		t.Fatal(file, err)
	}
	described := "see also http://" + secret
	cards[0].Description = &described
	err = sink.WriteTable(s.out, sink.Meta{Kind: file[0].Kind, Crawl: file[0].Crawl, Simulated: true},
		func(yield func(sink.Card, error) bool) {
			for _, c := range cards {
				if !yield(c, nil) {
					return
				}
			}
		})
	if err != nil {
		t.Fatal(err)
	}
	name, err := filepath.Rel(s.out, file[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	find(name+" description", secret)
}
