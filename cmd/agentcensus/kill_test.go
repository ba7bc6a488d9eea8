package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agentcensus/pipeline/simweb"
	"agentcensus/sink"
)

// reuse are servers that end a kept connection: in time, and so late that the
// next request was sent on it already. Neither makes a request be sent twice.
var reuse = []simweb.ScenarioSite{
	{Note: "closes after one answer, and says so", Robots: &simweb.Play{Do: "close_announced"}, Card: &simweb.Play{Do: "close_announced"}},
	{Note: "closes after one answer, unannounced", Robots: &simweb.Play{Do: "close_after"}, Card: &simweb.Play{Do: "close_after"}},
	{Note: "its answer ends with the connection", Robots: &simweb.Play{Do: "until_close"}},
	{Note: "closes when the next request has come", Robots: &simweb.Play{Do: "robots_allow"}, Card: &simweb.Play{Do: "close_before"}},
	{Note: "resets when the next request has come", Robots: &simweb.Play{Do: "robots_allow"}, Card: &simweb.Play{Do: "reset_before"}},
	{Note: "closes late, at the last path", Robots: &simweb.Play{Do: "robots_allow"}, Legacy: &simweb.Play{Do: "close_before"}},
	{Note: "has no address", DNS: "nxdomain"},
	{Note: "moved to its www name", Move: "all", Robots: &simweb.Play{Do: "robots_allow"}},
}

// busy is a web with some latency, so that there is always something open.
func busy(seed uint64) simweb.Config {
	return simweb.Config{
		Seed: seed, Profile: simweb.Plain, CardShare: 0.05, Log: simweb.LogMemory,
		Latency: simweb.Lognormal{Median: 40 * time.Millisecond, Sigma: 0.6},
	}
}

// A crawl killed by SIGKILL at 100 random instants, some of them in its start,
// comes to its end: no URL was asked twice, no site is missing, and every kill
// interrupted no more sites than were under way (P3, P13, P15).
func TestKilledCrawlGoesOn(t *testing.T) {
	t.Parallel()
	kills, entries := 100, 1500
	if testing.Short() {
		kills, entries = 12, 400
	}
	s := newCensus(t, busy(21), entries, reuse...)
	s.inFlight = 4
	random := rand.New(rand.NewPCG(21, 1))
	var logs []string
	var interrupted, resumed int64
	for k := range kills {
		p := s.crawl(t)
		after := 20 + random.Int64N(200)
		switch {
		case k%8 == 7: // at any instant of its start
			after = random.Int64N(80)
		case !p.said(t, "the crawl"):
			t.Fatalf("ended before kill %d: %s%s", k+1, p.out, p.err)
		case k%50 == 49: // late enough for what is not committed to pile up
			after = 2000
		}
		time.Sleep(time.Duration(after) * time.Millisecond)
		at := time.Now()
		p.kill(t)
		logs = append(logs, p.out.String(), p.err.String())
		if p.cmd.ProcessState.ExitCode() != killed {
			t.Fatalf("ended before kill %d: %s%s", k+1, p.out, p.err)
		}
		if l := s.proveKill(t, sink.Adhoc, at); l != nil {
			interrupted += l.open
			resumed++
		}
	}
	// The rest at full speed: the number of slots may change on the way.
	p := s.crawl(t, "--in-flight", "60")
	p.ends(t, exitComplete, "is complete")
	s.prove(t, proof{interruptedAtMost: interrupted, inFlight: 60, logs: append(logs, p.out.String(), p.err.String())})
	if n := rows[sink.CrawlRow](t, s.out)[0].Interruptions; n == 0 || n > resumed {
		t.Errorf("crawls counts %d interruptions of %d", n, resumed)
	}
	t.Logf("%d kills, %d of %d sites interrupted", kills, interrupted, entries)
}

// A crawl killed again and again while it writes its tables: a reader never
// meets a partial one, and they come out the same (P14).
func TestKilledWhileWritingTables(t *testing.T) {
	t.Parallel()
	s := newCensus(t, busy(22), 100, reuse...)
	// A file in the place of a table's directory stops the crawl at its end.
	data := filepath.Join(s.out, "data", "cards")
	if err := os.MkdirAll(filepath.Dir(data), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, data, "")
	p := s.crawl(t)
	p.ends(t, exitResumable, "write the tables", "the same command goes on with it")
	logs := []string{p.err.String()}
	whole := t.TempDir()
	if err := os.CopyFS(whole, os.DirFS(s.out)); err != nil {
		t.Fatal(err)
	}

	random := rand.New(rand.NewPCG(22, 1))
	for range 4 {
		if err := os.RemoveAll(s.out); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(s.out, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(data); err != nil {
			t.Fatal(err)
		}
		for attempt := 0; ; attempt++ {
			p := s.crawl(t)
			if attempt < 4 {
				eventually(t, "a table is being written", func() bool {
					_, err := os.Stat(data)
					return err == nil || p.over()
				})
				time.Sleep(time.Duration(random.Int64N(int64(25 * time.Millisecond))))
				p.signal(t, os.Kill)
			}
			status := p.wait(t)
			logs = append(logs, p.out.String(), p.err.String())
			s.proveWhole(t)
			if status == exitComplete {
				break
			}
			if status != killed {
				t.Fatalf("exit status %d\n%s", status, p.err)
			}
		}
		s.prove(t, proof{logs: logs})
	}
}
