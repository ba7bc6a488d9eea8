package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentcensus/pipeline/simweb"
	"agentcensus/sink"
)

// Of two processes at once the second asks nothing, says who holds the lock and
// ends: satisfied when that is a crawl of its kind, to be started again when it
// is another.
func TestSecondCrawlAsksNothing(t *testing.T) {
	t.Parallel()
	s := newCensus(t, busy(51), 200)
	s.inFlight = 4
	list, err := os.Open(s.list)
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	first := startWith(t, list, nil, s.command("--list", "-")...)
	s.requests(t, 50)
	copied, err := os.ReadFile(sink.ListCopyPath(s.out, sink.Adhoc))
	if err != nil {
		t.Fatal(err)
	}
	holder := fmt.Sprintf("adhoc, process %d, since 20", first.cmd.Process.Pid)

	same := s.crawl(t)
	same.ends(t, exitComplete, holder, "nothing to do")
	other := s.crawl(t, "--kind", "monthly")
	other.ends(t, exitResumable, holder, "start this one again later")
	// Not even one that would discard the first, or that brings its own list.
	abandon := startWith(t, strings.NewReader("other.example\n"), nil, s.command("--abandon", "--list", "-")...)
	abandon.ends(t, exitComplete, holder, "nothing to do")
	if now, err := os.ReadFile(sink.ListCopyPath(s.out, sink.Adhoc)); err != nil || !bytes.Equal(now, copied) {
		t.Errorf("the first crawl's list is not what it was, %v", err)
	}

	first.ends(t, exitComplete, "is complete")
	s.prove(t, proof{logs: []string{first.err.String(), same.out.String(), other.err.String(), abandon.out.String()}})
}

// The lock of a process that was killed blocks nobody.
func TestStaleLockBlocksNobody(t *testing.T) {
	t.Parallel()
	s := newCensus(t, busy(52), 60)
	p := s.crawl(t)
	s.requests(t, 10)
	p.kill(t)
	l := s.examine(t, sink.Adhoc)
	q := s.crawl(t)
	q.ends(t, exitComplete, "is complete")
	s.prove(t, proof{interruptedAtMost: l.open, logs: []string{p.err.String(), q.out.String()}})
}

// An unfinished crawl goes on only as what it was begun as. Each refusal says
// what differs and what to do, and changes nothing.
func TestUnfinishedCrawlIsNotMistaken(t *testing.T) {
	t.Parallel()
	s := newCensus(t, busy(53), 150)
	s.inFlight = 4
	p := s.crawl(t)
	s.requests(t, 50)
	p.kill(t)
	l := s.examine(t, sink.Adhoc)
	whole, err := os.ReadFile(s.statePath(sink.Adhoc))
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(s.list)
	if err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(s.yaml)
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	for _, c := range []struct {
		name   string
		do     func()
		args   []string
		status int
		says   []string
	}{
		{"another list", func() { writeFile(t, s.list, string(list)+"151,one-more.example\r\n") }, nil,
			exitUsage, []string{"the unfinished adhoc crawl of", "began with list", "abandon"}},
		{"another policy", func() { writeFile(t, s.yaml, string(config)+"robots: {policy: strict}\n") }, nil,
			exitUsage, []string{`began with robots.policy "rfc9309", now it is "strict"`, "--abandon"}},
		{"another limit", func() {}, []string{"--limit", "100"}, exitUsage, []string{"abandon"}},
		{"no list any more", func() {
			if err := os.Remove(s.list); err != nil {
				t.Fatal(err)
			}
		}, nil, exitUsage, []string{"names.csv"}},
		{"a cut state file", func() { writeFile(t, s.statePath(sink.Adhoc), string(whole[:3*4096])) }, nil,
			exitFailed, []string{"cannot go on", "--abandon", "refused (damaged)"}},
		{"a foreign state file", func() { writeFile(t, s.statePath(sink.Adhoc), strings.Repeat("something else ", 4000)) }, nil,
			exitFailed, []string{"cannot go on", "--abandon", "refused (foreign)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.do()
			before, err := os.ReadFile(s.statePath(sink.Adhoc))
			if err != nil {
				t.Fatal(err)
			}
			s.crawl(t, c.args...).ends(t, c.status, c.says...)
			after, err := os.ReadFile(s.statePath(sink.Adhoc))
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("the state file was changed, %v", err)
			}
			writeFile(t, s.statePath(sink.Adhoc), string(whole))
			writeFile(t, s.list, string(list))
			writeFile(t, s.yaml, string(config))
		})
	}
	for _, e := range s.log() {
		if e.Start.After(since) {
			t.Errorf("a refused crawl asked something: %+v", e)
		}
	}
	q := s.crawl(t)
	q.ends(t, exitComplete, "is complete")
	s.prove(t, proof{interruptedAtMost: l.open, logs: []string{q.out.String(), q.err.String()}})
}

// A list from a pipe is there when the crawl goes on without it, and gone when
// the crawl is complete.
func TestPipedListIsRemembered(t *testing.T) {
	t.Parallel()
	s := newCensus(t, busy(54), 200, reuse...)
	s.inFlight = 6
	list, err := os.Open(s.list)
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	p := startWith(t, list, nil, s.command("--list", "-")...)
	s.requests(t, 100)
	p.kill(t)
	l := s.examine(t, sink.Adhoc)
	q := s.crawl(t, "--list", "-")
	s.requests(t, 250)
	q.signal(t, syscall.SIGTERM)
	q.ends(t, exitResumable)
	r := s.crawl(t, "--list", "-")
	r.ends(t, exitComplete, "is complete")
	s.prove(t, proof{interruptedAtMost: l.open, logs: []string{p.err.String(), q.err.String(), r.out.String(), r.err.String()}})
	if src := rows[sink.CrawlRow](t, s.out)[0].ListSource; src != "stdin" {
		t.Errorf("list source %q", src)
	}
}

// A part of a ranking keeps its ranks.
func TestListMayBeginAtAnyRank(t *testing.T) {
	t.Parallel()
	s := newCensus(t, simweb.Config{Seed: 55, Profile: simweb.Plain, CardShare: 0.3, Log: simweb.LogMemory}, 50)
	var b strings.Builder
	for i, name := range s.entries {
		fmt.Fprintf(&b, "%d,%s\n", 5001+i, name)
	}
	writeFile(t, s.list, b.String())
	s.crawl(t).ends(t, exitComplete, "is complete")
	var sites int64
	for _, row := range rows[sink.SiteTotal](t, s.out) {
		if row.RankFrom != 5001 {
			t.Errorf("sites of ranks from 5001 count in the range from %d", row.RankFrom)
		}
		sites += row.Sites
	}
	if sites != 50 {
		t.Errorf("%d sites of 50", sites)
	}
	for _, c := range rows[sink.Card](t, s.out) {
		if i := c.Rank - 5001; i < 0 || i >= 50 || s.entries[i] != c.Site {
			t.Errorf("rank %d of %s", c.Rank, c.Site)
		}
	}
}
