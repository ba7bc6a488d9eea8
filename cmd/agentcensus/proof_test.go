package main

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"

	"agentcensus/pipeline/simweb"
	"agentcensus/sink"
	progress "agentcensus/sink/state"
)

// proof is what a complete crawl of a census must look like.
type proof struct {
	interruptedAtMost int64    // sites
	inFlight          int      // the most that any of the crawlers was allowed; 0: that of the census
	optedOut          bool     // some sites opted out meanwhile
	logs              []string // all that the crawlers wrote to their streams
}

func (p proof) peak(s *census) int {
	if p.inFlight == 0 {
		return int(s.inFlight)
	}
	return p.inFlight
}

// prove checks every promise of a complete crawl: the web's log, the totals
// against the truth, the cards, and what is left on the disk.
func (s *census) prove(t *testing.T, p proof) {
	t.Helper()
	s.provePolite(t, p)
	truth := simweb.NewTruth()
	for i := range s.entries {
		truth.Add(int64(i+1), s.fate(int64(i+1)))
	}
	interrupted := s.proveSites(t, truth, p)
	s.proveFetches(t, truth)
	if p.optedOut { // nothing is known of these either
		interrupted += rows[sink.CrawlRow](t, s.out)[0].OptedOut
	}
	s.proveCards(t, truth, interrupted)
	s.proveAsked(t, interrupted)
	s.provePrivate(t, p.logs)
	s.proveTidy(t)
}

// provePolite checks the log. That of all processes together, but for the
// requests in flight: of a process that is dead the web notices only when it is
// to answer.
func (s *census) provePolite(t *testing.T, p proof) {
	t.Helper()
	log := s.log()
	for _, v := range simweb.Check(log, simweb.Limits{InFlight: len(log), Signed: true}) {
		t.Errorf("promise broken: %v", v)
	}
	for i, from := range s.starts {
		part := slices.DeleteFunc(slices.Clone(log), func(e simweb.Entry) bool {
			return e.Start.Before(from) || i+1 < len(s.starts) && !e.Start.Before(s.starts[i+1])
		})
		for _, v := range simweb.Check(part, simweb.Limits{InFlight: p.peak(s)}) {
			if v.Promise == "P4" {
				t.Errorf("promise broken: %v", v)
			}
		}
	}
}

// proveSites compares the site totals with the truth: of every outcome at most
// as many sites as there are, and in every rank range as many interrupted ones
// as there are too few of the others (P13).
func (s *census) proveSites(t *testing.T, truth *simweb.Truth, p proof) (interrupted int64) {
	t.Helper()
	lacking := truth.Sites()
	for _, row := range rows[sink.SiteTotal](t, s.out) {
		k := simweb.SiteKey{From: row.RankFrom, To: row.RankTo, Outcome: row.Outcome, Reason: row.Reason}
		switch row.Outcome {
		case "interrupted":
			interrupted += row.Sites
			k.Outcome, k.Reason = "", ""
		case "opted_out":
			if p.optedOut {
				k.Outcome, k.Reason = "", ""
			}
		}
		lacking[k] -= row.Sites
	}
	var lost int64 // sites that count as lost and should not
	for k, n := range lacking {
		if k.Outcome == "connection_lost" && n < 0 {
			lost -= n
		}
	}
	if may := s.hasty(); lost > may {
		t.Errorf("%d more sites lost than in truth, %d may be", lost, may)
	}
	left := map[simweb.SiteKey]int64{}
	for k, n := range tolerant(lacking) {
		if k.Outcome != "" && n < 0 {
			t.Errorf("%d more sites than in truth: %+v", -n, k)
		}
		switch k.Outcome {
		case "invalid_name", "duplicate", "dns_not_found":
			// Decided before anything is asked: nothing can interrupt them.
			if n != 0 && !p.optedOut {
				t.Errorf("%d sites fewer than in truth: %+v", n, k)
			}
		}
		left[simweb.SiteKey{From: k.From, To: k.To}] += n
	}
	for k, n := range left {
		if n != 0 {
			t.Errorf("ranks %d to %d: %d sites lost", k.From, k.To, n)
		}
	}
	if interrupted > p.interruptedAtMost {
		t.Errorf("%d sites interrupted, at most %d may be", interrupted, p.interruptedAtMost)
	}
	crawl := rows[sink.CrawlRow](t, s.out)
	if len(crawl) != 1 || crawl[0].Sites != int64(len(s.entries)) || crawl[0].Entries != crawl[0].Sites {
		t.Errorf("crawls: %+v, the list has %d entries", crawl, len(s.entries))
	}
	return interrupted
}

// hasty is how many sites promise to keep a connection and close it at once. The
// next request to such a one may be on its way already: it is lost, and not sent
// again (P3).
func (s *census) hasty() (sites int64) {
	if s.config.Scenario == nil {
		return 0
	}
	for _, site := range s.config.Scenario.Sites {
		if site.Robots != nil && site.Robots.Do == "close_after" {
			sites++
		}
	}
	return sites
}

// tolerant adds up what cannot be told apart for certain of hasty sites.
func tolerant(totals map[simweb.SiteKey]int64) map[simweb.SiteKey]int64 {
	sum := map[simweb.SiteKey]int64{}
	for k, n := range totals {
		if k.Outcome == "connection_lost" || k.Outcome == "not_found" {
			k.Outcome, k.Reason = "connection_lost or not_found", ""
		}
		sum[k] += n
	}
	return sum
}

// proveFetches: no more requests than the truth has, and none of a site that
// was not settled.
func (s *census) proveFetches(t *testing.T, truth *simweb.Truth) {
	t.Helper()
	type key struct {
		from int64
		path string
	}
	might := map[key]int64{}
	for k, sum := range truth.Fetches() {
		might[key{k.From, k.Path}] += sum.Fetches
	}
	var requests int64
	for _, row := range rows[sink.FetchTotal](t, s.out) {
		might[key{row.RankFrom, row.Path}] -= row.Fetches
		requests += row.Requests
	}
	for k, n := range might {
		if n < 0 {
			t.Errorf("%d more fetches than in truth: %+v", -n, k)
		}
	}
	// Every request counted was seen, but for those that died on the way there.
	if crawl := rows[sink.CrawlRow](t, s.out); crawl[0].Requests != requests {
		t.Errorf("crawls has %d requests, fetch_totals %d", crawl[0].Requests, requests)
	}
}

// proveCards: the cards found are as in truth, as many as the totals say, and
// no more lacking than sites were interrupted.
func (s *census) proveCards(t *testing.T, truth *simweb.Truth, interrupted int64) {
	t.Helper()
	want, got := truth.Cards(), map[int64]simweb.CardFacts{}
	for _, c := range rows[sink.Card](t, s.out) {
		got[c.Rank] = factsOf(c)
	}
	lacking := int64(0)
	for rank := range want {
		if _, ok := got[rank]; !ok {
			delete(want, rank)
			lacking++
		}
	}
	if lacking > interrupted {
		t.Errorf("%d cards lost, %d sites interrupted", lacking, interrupted)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("cards (-truth +crawl):\n%s", diff)
	}
	var total int64
	for _, row := range rows[sink.SiteTotal](t, s.out) {
		if row.Outcome == "card" {
			total += row.Sites
		}
	}
	if total != int64(len(got)) {
		t.Errorf("%d cards in the totals, %d rows", total, len(got))
	}
}

// proveAsked: every site that is to be asked was, unless it was interrupted.
func (s *census) proveAsked(t *testing.T, interrupted int64) {
	t.Helper()
	asked := map[string]bool{}
	for _, e := range s.log() {
		if e.Kind == simweb.KindRequest {
			asked[strings.TrimPrefix(e.Origin, "https://")] = true
		}
	}
	var missing int64
	for i, name := range s.entries {
		if f := s.fate(int64(i + 1)); len(f.Fetches) > 0 && f.Fetches[0].Requests > 0 && !asked[name] {
			missing++
		}
	}
	if missing > interrupted {
		t.Errorf("%d sites were never asked, %d interrupted", missing, interrupted)
	}
}

// proveTidy: no state, no temporary file, nothing unknown (P10, P14).
func (s *census) proveTidy(t *testing.T) {
	t.Helper()
	want := map[string]bool{".state/lock": true, "views.sql": true, "questions.sql": true}
	for _, table := range []string{"cards", "crawls", "fetch_totals", "site_totals"} {
		want["data/"+table] = true
	}
	for path := range walk(t, s.out) {
		if parts := strings.Split(path, "/"); parts[0] == "data" {
			path = parts[0] + "/" + parts[1]
			if len(parts) != 5 || parts[4] != parts[1]+".parquet" {
				t.Errorf("left behind: %v", parts)
			}
		}
		if !want[path] {
			t.Errorf("left behind: %s", path)
		}
	}
}

// walk gives the files under dir by their relative path, with their content.
func walk(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// provePrivate: no name of a site without a card in any file or log (P10).
func (s *census) provePrivate(t *testing.T, logs []string) {
	t.Helper()
	for _, leak := range s.leaks(t, logs) {
		t.Errorf("named, though it has no card: %s", leak)
	}
}

// leaks finds names of sites without a card: in every string column of every
// Parquet file, in the bytes of every other file, and in the logs.
func (s *census) leaks(t *testing.T, logs []string) []string {
	t.Helper()
	secret := s.withoutCards()
	return s.leaksOf(t, logs, func(name string) bool { return secret[name] })
}

// leaksOf finds the names that are secret.
func (s *census) leaksOf(t *testing.T, logs []string, secret func(name string) bool) []string {
	t.Helper()
	var found []string
	look := func(where string, text []byte) {
		for name := range names(text) {
			if secret(name) {
				found = append(found, where+": "+name)
			}
		}
	}
	for path, content := range walk(t, s.out) {
		if strings.HasSuffix(path, ".parquet") {
			for column, value := range stringValues(t, content) {
				look(path+" "+column, value)
			}
		}
		// Parquet too: statistics and metadata are beside the columns.
		look(path, content)
	}
	for _, log := range logs {
		look("log", []byte(log))
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// withoutCards are the names of the sites without a card, apex and www. An entry
// that is no name of a site stands for itself.
func (s *census) withoutCards() map[string]bool {
	secret, public := map[string]bool{}, map[string]bool{}
	for i, name := range s.entries {
		apex := strings.TrimPrefix(name, "www.")
		secret[apex], secret["www."+apex] = true, true
		if s.fate(int64(i+1)).Card != nil {
			public[apex], public["www."+apex] = true, true
		}
	}
	maps.DeleteFunc(secret, func(name string, _ bool) bool { return public[name] })
	return secret
}

// names yields what could be a name in text: the longest runs of the characters
// of names, and what of them begins at a label.
func names(text []byte) map[string]bool {
	found := map[string]bool{}
	for _, run := range bytes.FieldsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_')
	}) {
		if !bytes.Contains(run, []byte(".")) || len(run) > 4096 {
			continue
		}
		name := strings.Trim(string(run), ".")
		for {
			found[name] = true
			_, rest, ok := strings.Cut(name, ".")
			if !ok {
				break
			}
			name = rest
		}
	}
	return found
}

// stringValues yields every value of every string column of a Parquet file, whatever
// its schema, with the column's path.
func stringValues(t *testing.T, content []byte) func(func(string, []byte) bool) {
	t.Helper()
	file, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(string, []byte) bool) {
		for _, path := range file.Schema().Columns() {
			leaf, ok := file.Schema().Lookup(path...)
			if !ok {
				t.Fatalf("no column %v", path)
			}
			if kind := leaf.Node.Type().Kind(); kind != parquet.ByteArray && kind != parquet.FixedLenByteArray {
				continue
			}
			for _, group := range file.RowGroups() {
				pages := group.ColumnChunks()[leaf.ColumnIndex].Pages()
				for {
					page, err := pages.ReadPage()
					if err != nil {
						break
					}
					values := make([]parquet.Value, page.NumValues())
					n, _ := page.Values().ReadValues(values)
					for _, v := range values[:n] {
						if !v.IsNull() && !yield(strings.Join(path, "."), v.ByteArray()) {
							return
						}
					}
				}
				if err := pages.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// left is what a killed crawler has left: the state as the next one finds it.
type left struct {
	ended, open int64
	begun       func(rank int64) bool
}

// examine reads the state of an unfinished crawl from a copy; nil when there is
// none.
func (s *census) examine(t *testing.T, kind sink.Kind) *left {
	t.Helper()
	content, err := os.ReadFile(s.statePath(kind))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "state.db")
	writeFile(t, copied, string(content))
	store, err := progress.Open(copied, progress.Options{})
	if err != nil {
		t.Fatalf("the state after a kill: %v", err)
	}
	l := &left{}
	l.ended, l.open = store.Progress()
	begun := map[int64]bool{}
	for rank := int64(1); rank <= int64(len(s.entries)); rank++ {
		begun[rank] = store.Begun(rank)
	}
	l.begun = func(rank int64) bool { return begun[rank] }
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return l
}

// proveKill checks what a crawler killed at this moment has left: the intent to
// ask every site that was asked is durable, and what is open is at most what may
// be and what had not been committed for more than a second (P15).
func (s *census) proveKill(t *testing.T, kind sink.Kind, at time.Time) *left {
	t.Helper()
	l := s.examine(t, kind)
	if l == nil {
		return nil
	}
	last := map[string]time.Time{}
	for _, e := range s.log() {
		if e.Kind == simweb.KindRequest {
			host := strings.TrimPrefix(e.Origin, "https://")
			if apex := strings.TrimPrefix(host, "www."); e.End.After(last[apex]) {
				last[apex] = e.End
			}
		}
	}
	var fresh int64 // sites whose last request is not older than a second
	for i, name := range s.entries {
		rank, end := int64(i+1), last[strings.TrimPrefix(name, "www.")]
		if end.IsZero() || s.fate(rank).Outcome == "duplicate" {
			continue
		}
		if !l.begun(rank) {
			t.Errorf("%s was asked and its intent is not in the state", name)
		}
		if end.After(at.Add(-time.Second)) {
			fresh++
		}
	}
	if l.open > s.openSites()+fresh {
		t.Errorf("%d sites are open after a kill: more than the %d that may be and the %d of the last second", l.open, s.openSites(), fresh)
	}
	return l
}

// proveWhole: every table that a reader's glob finds is whole, and a crawl that
// has its row in crawls has them all (P14).
func (s *census) proveWhole(t *testing.T) {
	t.Helper()
	tables := map[string]bool{}
	for path, content := range walk(t, s.out) {
		if !strings.HasSuffix(path, ".parquet") {
			continue
		}
		tables[filepath.Base(path)] = true
		if _, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content))); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if tables["crawls.parquet"] && len(tables) != 4 {
		t.Errorf("published with the tables %v", tables)
	}
}
