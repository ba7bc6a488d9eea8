package main

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// While a crawl runs, --metrics serves its numbers: all that are promised, none
// with the name of a site.
func TestMetricsOfARunningCrawl(t *testing.T) {
	t.Parallel()
	s := newCensus(t, busy(95), 150, reuse...)
	s.inFlight = 3
	p := s.crawl(t, "--metrics", "127.0.0.1:0")
	if !p.said(t, "serving metrics") {
		t.Fatal(p.err)
	}
	addr := regexp.MustCompile(`msg="serving metrics" addr=(\S+)`).FindStringSubmatch(p.err.String())
	if addr == nil {
		t.Fatal(p.err)
	}
	base := "http://" + addr[1]
	s.requests(t, 60)

	if text := get(t, base+"/healthz"); text != "crawling\n" {
		t.Errorf("/healthz: %q", text)
	}
	text := get(t, base+"/metrics")
	for _, series := range []string{
		`agentcensus_sites_total\{outcome="not_found"\} [1-9]`,
		`agentcensus_requests_total\{path="/robots.txt",status="200"\} [1-9]`,
		`agentcensus_requests_total\{path="/.well-known/agent-card.json",status="404"\} [1-9]`,
		`agentcensus_cards_total \d`,
		`agentcensus_in_flight [0-3]\n`,
		`agentcensus_open_sites [0-6]\n`,
		`agentcensus_slot_wait_seconds_count [1-9]`,
		`agentcensus_dns_seconds_count\{result="ok"\} [1-9]`,
		`agentcensus_state_commit_seconds_count [1-9]`,
		`agentcensus_opt_out_reload_errors_total 0\n`,
	} {
		if !regexp.MustCompile(`(?m)^` + series).MatchString(text) {
			t.Errorf("no %s in\n%s", series, text)
		}
	}
	logs := []string{text}

	// An opt-out file that was spoilt is counted, and what it said holds.
	writeFile(t, s.optOut+".new", "co.uk\n")
	if err := os.Rename(s.optOut+".new", s.optOut); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the error is counted", func() bool {
		return strings.Contains(get(t, base+"/metrics"), "agentcensus_opt_out_reload_errors_total 1\n")
	})
	p.ends(t, exitComplete, "the opt-out file has an error", "is complete")
	s.prove(t, proof{logs: append(logs, p.out.String(), p.err.String())})
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status, err)
	}
	return string(text)
}
