package main

import (
	"os"
	"syscall"
	"testing"
	"time"

	"agentcensus/pipeline/simweb"
	"agentcensus/sink"
)

// A first signal ends a crawl when what is open is finished: every site that was
// begun has ended, and the crawl goes on to the very same totals as if nothing
// had been.
func TestSignalFinishesWhatIsOpen(t *testing.T) {
	t.Parallel()
	s := newCensus(t, busy(31), 220, reuse...)
	s.inFlight = 6
	var logs []string
	for i := range 3 {
		p := s.crawl(t)
		s.requests(t, int64(120*(i+1)))
		p.signal(t, []os.Signal{syscall.SIGTERM, os.Interrupt}[i%2])
		p.ends(t, exitResumable, "finishing the open sites; once more stops at once",
			"a signal asked it to", "of 220 sites", "the same command goes on with it")
		logs = append(logs, p.out.String(), p.err.String())
		l := s.examine(t, sink.Adhoc)
		if l == nil {
			t.Fatal("there is no state to go on with")
		}
		if l.open != 0 {
			t.Errorf("stop %d: %d sites are begun and have not ended", i+1, l.open)
		}
	}
	p := s.crawl(t)
	p.ends(t, exitComplete, "is complete")
	s.prove(t, proof{logs: append(logs, p.out.String(), p.err.String())})
	if n := rows[sink.CrawlRow](t, s.out)[0].Interruptions; n != 3 {
		t.Errorf("crawls counts %d interruptions of 3", n)
	}
}

// A site that comes to nothing while a stopped crawl finishes what is open keeps
// its outcome: others answered meanwhile, so that it is its own.
func TestStoppedCrawlKeepsFailures(t *testing.T) {
	t.Parallel()
	silent := simweb.ScenarioSite{Note: "never answers a card request", Card: &simweb.Play{Do: "silent"}}
	c := busy(33)
	c.Latency.Median = 150 * time.Millisecond // most sites have yet to answer when the signal comes
	s := newCensus(t, c, 100, silent)
	p := s.crawl(t)
	s.firstAnswered(t)
	p.signal(t, syscall.SIGTERM)
	p.ends(t, exitResumable, "the same command goes on with it")
	if l := s.examine(t, sink.Adhoc); l == nil || l.open != 0 {
		t.Errorf("left behind: %+v", l)
	}
	q := s.crawl(t)
	q.ends(t, exitComplete, "is complete")
	s.prove(t, proof{logs: []string{p.err.String(), q.out.String(), q.err.String()}})
}

// firstAnswered waits until the robots.txt of the list's first site is answered.
func (s *census) firstAnswered(t *testing.T) {
	t.Helper()
	eventually(t, "the first site's robots.txt is answered", func() bool {
		for _, e := range s.web.Log() {
			if e.Kind == simweb.KindRequest && e.Host == s.entries[0] {
				return true
			}
		}
		return false
	})
}

// A second signal does not wait for what is open, which is interrupted then.
func TestSecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	silent := simweb.ScenarioSite{Note: "never answers a card request", Card: &simweb.Play{Do: "silent"}}
	s := newCensus(t, busy(32), 100, silent)
	p := s.crawl(t)
	s.firstAnswered(t) // and is silent for five seconds now
	p.signal(t, syscall.SIGTERM)
	if !p.said(t, "once more stops at once") {
		t.Fatalf("ended by the first signal: %s", p.err)
	}
	p.signal(t, syscall.SIGTERM)
	p.ends(t, exitResumable)
	l := s.examine(t, sink.Adhoc)
	if l == nil || l.open == 0 || l.open > s.openSites() {
		t.Fatalf("left behind: %+v; a silent site was open and %d may be", l, s.openSites())
	}
	q := s.crawl(t)
	q.ends(t, exitComplete, "is complete")
	s.prove(t, proof{interruptedAtMost: l.open, logs: []string{p.err.String(), q.out.String(), q.err.String()}})
}
