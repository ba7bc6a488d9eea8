package main

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentcensus/sink"
)

// BenchmarkReport measures the page and the summary of a census of full size:
// two months with a list of 1,000,000 and 20,000 cards of 20 KB each, four
// weeks of checks. To measure each once:
//
//	go test -run '^$' -bench Report -benchtime 1x ./cmd/agentcensus-report
//
// AGENTCENSUS_SHOTS keeps the page in that directory.
func BenchmarkReport(b *testing.B) {
	const cards, listed = 20_000, 1_000_000
	dir := b.TempDir()
	for i, crawl := range []string{"2026-10-01", "2026-11-01"} {
		writeFullMonth(b, dir, sink.Meta{Kind: "monthly", Crawl: crawl}, cards, listed, uint64(i))
	}
	for _, crawl := range []string{"2026-11-02", "2026-11-09", "2026-11-16", "2026-11-23"} {
		writeFullWeek(b, dir, sink.Meta{Kind: "weekly", Crawl: crawl}, cards)
	}
	b.Run("page", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "census.html")
		if shots := os.Getenv("AGENTCENSUS_SHOTS"); shots != "" {
			path = filepath.Join(shots, "full.html")
		}
		for b.Loop() {
			if _, errs, status := command(b, "report", "--data", dir, "--out", path); status != exitDone || errs != "" {
				b.Fatal(errs)
			}
		}
	})
	b.Run("summary", func(b *testing.B) {
		for b.Loop() {
			if _, errs, status := command(b, "summary", "--data", dir); status != exitDone || errs != "" {
				b.Fatal(errs)
			}
		}
	})
}

// stream writes rows that are made one by one.
func stream[T sink.Row](b *testing.B, dir string, meta sink.Meta, rows iter.Seq[T]) {
	b.Helper()
	err := sink.WriteTable(dir, meta, func(yield func(T, error) bool) {
		for row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	})
	if err != nil {
		b.Fatal(err)
	}
}

func writeFullMonth(b *testing.B, dir string, meta sink.Meta, cards, listed int64, seed uint64) {
	b.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	stream(b, dir, meta, func(yield func(sink.Card) bool) {
		for i := range cards {
			if !yield(fullCard(random, i, listed/cards)) {
				return
			}
		}
	})
	outcomes := []string{"card", "client_error", "connect_refused", "dns_not_found", "near_card", "not_a_card", "not_found", "robots_disallowed",
		"robots_unreachable", "server_error", "soft_404", "timeout", "tls_certificate"}
	var sites []sink.SiteTotal
	var fetches []sink.FetchTotal
	from, left := int64(1), listed
	for _, to := range []int64{100, 500, 1000, 5000, 10_000, 50_000, 100_000, 500_000, 1_000_000} {
		size, rest := to-from+1, to-from+1
		for i, outcome := range outcomes {
			n := size * int64(i+1) / 100
			if outcome == "card" {
				n = size * cards / listed
			}
			if i == len(outcomes)-1 {
				n = rest
			}
			rest -= n
			sites = append(sites, sink.SiteTotal{RankFrom: from, RankTo: to, Outcome: outcome, Sites: n})
		}
		for _, path := range []string{"/.well-known/agent-card.json", "/.well-known/agent.json", "/robots.txt"} {
			for status := int32(400); status < 420; status++ {
				fetches = append(fetches, sink.FetchTotal{RankFrom: from, RankTo: to, Path: path, Outcome: "client_error",
					Reason: fmt.Sprintf("status_%d", status), HTTPStatus: ptr(status), Fetches: size / 20, Requests: size / 20})
			}
		}
		from, left = to+1, left-size
	}
	put(b, dir, meta, sites...)
	put(b, dir, meta, fetches...)
	put(b, dir, meta, sink.CrawlRow{Entries: listed, Sites: listed - left, Cards: cards, Requests: 3 * listed, Simulated: true})
}

// fullCard is one of many different cards.
func fullCard(random *rand.Rand, i, step int64) sink.Card {
	pick := func(words ...string) string { return words[min(random.IntN(len(words)), random.IntN(len(words)))] }
	site := fmt.Sprintf("site%d.example", i)
	card := sink.Card{Rank: 1 + i*step, Site: site, BodySHA256: fmt.Sprintf("%064x", random.Uint64()), CanonSHA256: fmt.Sprintf("%064x", random.IntN(15_000)),
		BodyBytes: 20_000, Name: ptr(site), Description: ptr(strings.Repeat("An agent. ", 20)), A2AVersion: pick("0.3", "1.0", "0.2", "unknown"),
		VersionSource: pick("card", "interface", "shape", "none"), CardShape: pick("0.x", "union", "1.x"), SkillsKind: "array",
		AuthRequired: ptr(pick("required", "optional")), Signed: random.IntN(20) == 0, VersionConflict: random.IntN(9) == 0}
	card.Supports10, card.SkillsCount = card.CardShape != "0.x", int32(random.IntN(12))
	card.Streaming = ptr(random.IntN(3) > 0)
	for s := range card.SkillsCount {
		card.Skills = append(card.Skills, sink.Skill{ID: ptr(fmt.Sprintf("skill-%d", random.IntN(4000))), Name: ptr(fmt.Sprint("Skill ", s)),
			Tags: []string{fmt.Sprintf("tag-%d", min(random.IntN(900), random.IntN(900), random.IntN(900))), pick("search", "text", "data analysis", "e-commerce", "customer support")}})
	}
	for range 1 + random.IntN(3) {
		host, kind := pick(site, fmt.Sprintf("a%d.us-central1.run.app", i), fmt.Sprintf("b%d.vercel.app", i), fmt.Sprintf("api.host%d.example.com", random.IntN(3000))), "other_site"
		if host == site {
			kind = "same_host"
		}
		card.Interfaces = append(card.Interfaces, sink.Interface{URL: "https://" + host + "/", Binding: pick("JSONRPC", "HTTP+JSON", "GRPC", "MCP"), Host: ptr(host), HostKind: kind})
	}
	card.SchemeTypes = []string{pick("http", "oauth2", "apiKey", "openIdConnect")}
	card.SecuritySchemes = []sink.SecurityScheme{{Name: "s", Type: card.SchemeTypes[0]}}
	card.Warnings = []string{pick("skill_missing_description", "url_not_https", "missing_capabilities", "interface_missing_binding", "requirement_names_unknown_scheme")}
	body := make([]byte, 10_000)
	for j := range body {
		body[j] = byte(random.Uint32())
	}
	card.CardJSON = ptr(fmt.Sprintf(`{"name":%q,"x":"%x"}`, site, body))
	return card
}

func writeFullWeek(b *testing.B, dir string, meta sink.Meta, cards int64) {
	b.Helper()
	random := rand.New(rand.NewPCG(7, 7))
	put[sink.Card](b, dir, meta)
	put(b, dir, meta, sink.SiteTotal{RankFrom: 1, RankTo: 100, Outcome: "soft_404", Sites: cards})
	put[sink.FetchTotal](b, dir, meta)
	stream(b, dir, meta, func(yield func(sink.Check) bool) {
		for i := range cards {
			status := []string{"up", "up", "up", "up", "up", "up", "down", "unknown", "skipped"}[random.IntN(9)]
			if !yield(sink.Check{Rank: 1 + i*50, Site: fmt.Sprintf("site%d.example", i), Status: status, LatencyMS: ptr(random.Int64N(900)),
				BodyChanged: ptr(random.IntN(9) == 0), CardGone: ptr(random.IntN(50) == 0), CardAppeared: ptr(random.IntN(70) == 0)}) {
				return
			}
		}
	})
	put(b, dir, meta, sink.CrawlRow{Entries: cards, Sites: cards, Simulated: true})
}
