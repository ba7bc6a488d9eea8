package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentcensus/sink"
)

func statusOfOut(t *testing.T, out string) (text string, st standing) {
	t.Helper()
	code, text, errOut := command(t, "status", "--out", out)
	if code != exitComplete {
		t.Fatalf("exit status %d: %s", code, errOut)
	}
	code, raw, errOut := command(t, "status", "--out", out, "--json")
	if code != exitComplete {
		t.Fatalf("exit status %d: %s", code, errOut)
	}
	if err := json.Unmarshal([]byte(raw), &st); err != nil {
		t.Fatal(err)
	}
	return text, st
}

func mustContain(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in:\n%s", w, text)
		}
	}
}

func TestStatusOfNothing(t *testing.T) {
	text, st := statusOfOut(t, t.TempDir())
	mustContain(t, text, "Nothing is running.", "No crawl is complete yet.")
	if st.Holder != nil || st.Crawl != nil || len(st.Unfinished)+len(st.Complete) > 0 {
		t.Errorf("%+v", st)
	}
}

func TestStatusOfARunningAndAKilledCrawl(t *testing.T) {
	out := t.TempDir()
	since := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	lock, err := sink.AcquireLock(out, "monthly", since)
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.WriteStatus(out, sink.Status{
		Kind: "monthly", Date: "2026-12-01", Simulated: true, Running: true, Started: since, Updated: since.Add(time.Hour), Entries: 1_000_000, Settled: 250_000,
		Cards: 75, Requests: 600_000, InFlight: 58, Rate: 30, Outcomes: map[string]int64{"card": 75, "not_found": 249_925},
	}); err != nil {
		t.Fatal(err)
	}
	text, st := statusOfOut(t, out)
	mustContain(t, text, "The simulated monthly crawl of 2026-12-01 is running: process", "since 2026-12-01 03:00:00 UTC",
		"250,000 of 1,000,000 (25.0 %)", "30.0 sites a second", "6h56m40s", "249,925")
	if st.Holder == nil || st.Holder.Doing != "monthly" || !st.Crawl.Running || *st.Crawl.RemainingSeconds != 25_000 {
		t.Errorf("%+v", st)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	text, st = statusOfOut(t, out)
	mustContain(t, text, "Nothing is running.", "its process was killed", "250,000 of 1,000,000")
	if st.Holder != nil || st.Crawl.Running || st.Crawl.RemainingSeconds != nil {
		t.Errorf("%+v", st)
	}
}

func TestStatusOfAStoppedCrawlAndOfCompleteOnes(t *testing.T) {
	y := newYears(t)
	y.month("2026-11-02", 0)
	y.must(y.week("2026-11-10", 0, nil))
	if err := y.week("2026-11-17", 0, y.cutOff(y.canaryOf(), 60)); exitStatus(err) != exitResumable {
		t.Fatal(err)
	}
	text, st := statusOfOut(t, y.out)
	mustContain(t, text, "Nothing is running.", "The simulated weekly crawl of 2026-11-17 was stopped at 2026-11-17 03:00:00 UTC: no canary answers",
		"  monthly, simulated  2026-11-02  130 sites", "  weekly, simulated   2026-11-10")
	if len(st.Unfinished) != 1 || st.Unfinished[0] != sink.Weekly || len(st.Complete) != 2 || st.Crawl.Settled == 0 {
		t.Errorf("%+v", st)
	}
	var sum int64
	for _, n := range st.Crawl.Outcomes {
		sum += n
	}
	if sum != st.Crawl.Settled {
		t.Errorf("the outcomes add up to %d, settled are %d", sum, st.Crawl.Settled)
	}
	noTrace(t, filepath.Join(y.out, ".state", "status.json"), readCrawl[sink.Card](y, sink.Monthly, "2026-11-02")[0].Site)
}
