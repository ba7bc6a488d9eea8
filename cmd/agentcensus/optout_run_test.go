package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"agentcensus/pipeline/simweb"
	"agentcensus/sink"
)

// Who opts out while a crawl runs is asked nothing from the next request on, the
// look-up of the name included: neither a site that waits for a slot nor one
// that was admitted already (P11).
func TestOptOutInMidRun(t *testing.T) {
	t.Parallel()
	c := simweb.Config{Seed: 61, Profile: simweb.Plain, CardShare: 0.1, Log: simweb.LogMemory,
		Latency: simweb.Lognormal{Median: time.Second}}
	s := newCensus(t, c, 60)
	s.inFlight = 1
	p := s.crawl(t)
	s.requests(t, 4)
	// Right after one answer: the next request has its slot, another one waits
	// a second for it.
	eventually(t, "a request is in flight", func() bool { return s.web.Stats().InFlight == 1 })

	var out []string
	for i, name := range s.entries {
		if s.fate(int64(i+1)).Outcome != "invalid_name" {
			out = append(out, strings.TrimPrefix(name, "www."))
		}
	}
	writeFile(t, s.optOut+".new", strings.Join(out, "\n")+"\n")
	if err := os.Rename(s.optOut+".new", s.optOut); err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	p.ends(t, exitComplete, "the opt-out file has new entries", "is complete")

	const underway = time.Second // what had been begun may still arrive
	var later []simweb.Entry
	for _, e := range s.log() {
		if e.Start.After(since.Add(underway)) {
			later = append(later, e)
		}
	}
	for _, v := range simweb.Check(later, simweb.Limits{OptedOut: out}) {
		t.Errorf("%v, %v after it was in the file", v, v.Entry.Start.Sub(since))
	}
	s.prove(t, proof{optedOut: true, logs: []string{p.out.String(), p.err.String()}})
	if n := rows[sink.CrawlRow](t, s.out)[0].OptedOut; n < 50 {
		t.Errorf("%d sites opted out", n)
	}
}
