package main

import (
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"agentcensus/sink"
	"agentcensus/sources"
)

// A complete monthly crawl is not begun again in its month, and to find that
// out nothing is asked: no site, and not Tranco either.
func TestMonthlyCrawlIsDoneOnce(t *testing.T) {
	s := newCensus(t, busy(91), 60)
	p := s.crawl(t, "--kind", "monthly")
	p.ends(t, exitComplete, "is complete")
	s.prove(t, proof{logs: []string{p.out.String(), p.err.String()}})
	asked := s.web.Stats()

	s.crawl(t, "--kind", "monthly").ends(t, exitComplete, "the monthly crawl of 20", "is complete", "nothing to do")
	if now := s.web.Stats(); now.Questions != asked.Questions || now.Conns != asked.Conns {
		t.Errorf("asked again: %+v, before %+v", now, asked)
	}

	tranco := refusingProxy(t)
	s.crawl(t, "--kind", "monthly", "--list", "tranco").ends(t, exitComplete, "is complete", "nothing to do")
	if n := tranco(); n != 0 {
		t.Errorf("%d connections although there is nothing to do", n)
	}
	// Another crawl does ask, so that none of the above is for another reason.
	s.crawl(t, "--replace", "--list", "tranco").ends(t, exitFailed, "tranco")
	if n := tranco(); n == 0 {
		t.Error("Tranco was not asked by a crawl of its list")
	}
}

// refusingProxy is the HTTPS proxy of the test's processes. It hangs up on
// everyone and counts them.
func refusingProxy(t *testing.T) (connections func() int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	count := make(chan int, 1)
	count <- 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			count <- <-count + 1
			c.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	t.Setenv("HTTPS_PROXY", "http://"+l.Addr().String())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return func() int {
		n := <-count
		count <- n
		return n
	}
}

// beginEarlier begins a monthly crawl of the list so long ago, as a process did
// that was killed before it asked anything.
func (s *census) beginEarlier(t *testing.T, begun time.Time) (date string) {
	t.Helper()
	r, err := newRunner(streams{out: io.Discard, err: io.Discard}, runFlags{out: s.out, config: s.yaml}, sink.Monthly, false)
	if err != nil {
		t.Fatal(err)
	}
	l, err := sources.Open(t.Context(), s.list, sources.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := sink.OpenCrawl(t.Context(), sink.Options{
		Out: s.out, Kind: sink.Monthly, Now: func() time.Time { return begun }, Simulated: true, Settings: r.settings(),
		List: sink.ListInfo{Source: l.Info().Source, SHA256: l.Info().SHA256, Entries: l.Info().Entries},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return c.Date()
}

// crawls are the dates of the complete crawls.
func (s *census) crawls(t *testing.T) (dates []string) {
	t.Helper()
	files, err := sink.Files(s.out, "crawls")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		dates = append(dates, f.Crawl)
	}
	return dates
}

// A crawl that was not finished in its month is finished first, under its own
// date; the next start begins this month's.
func TestEarlierPeriodIsFinishedFirst(t *testing.T) {
	t.Parallel()
	s := newCensus(t, busy(92), 60)
	date := s.beginEarlier(t, time.Now().AddDate(0, 0, -40))
	p := s.crawl(t, "--kind", "monthly")
	p.ends(t, exitComplete, "go on with the crawl", "is complete")
	if got := s.crawls(t); len(got) != 1 || got[0] != date {
		t.Errorf("complete crawls %v, want the one of %s", got, date)
	}
	s.prove(t, proof{logs: []string{p.out.String(), p.err.String()}})

	s.crawl(t, "--kind", "monthly").ends(t, exitComplete, "begin the crawl", "is complete")
	if got := s.crawls(t); len(got) != 2 || got[0] != date || got[1] == date {
		t.Errorf("complete crawls %v", got)
	}
	s.crawl(t, "--kind", "monthly").ends(t, exitComplete, "nothing to do")
}

// --abandon discards the unfinished crawl, and begins this month's.
func TestAbandonBeginsAnew(t *testing.T) {
	t.Parallel()
	s := newCensus(t, busy(93), 60)
	date := s.beginEarlier(t, time.Now().AddDate(0, 0, -40))
	// Whatever state it is in: one that cannot be read is abandoned too.
	writeFile(t, s.statePath(sink.Monthly), "not a state")
	s.crawl(t, "--kind", "monthly").ends(t, exitFailed, "--abandon")
	p := s.crawl(t, "--kind", "monthly", "--abandon")
	p.ends(t, exitComplete, "begin the crawl", "is complete")
	if got := s.crawls(t); len(got) != 1 || got[0] == date {
		t.Errorf("complete crawls %v, abandoned %s", got, date)
	}
	s.prove(t, proof{logs: []string{p.out.String(), p.err.String()}})
	if left, err := filepath.Glob(filepath.Join(s.out, ".state", "monthly*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
