package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentcensus/sink"
)

// The small census that the report is tested on: two months and a week, all of
// it made up. What the report has to say of it was worked out by hand.
var (
	october  = sink.Meta{Kind: "monthly", Crawl: "2026-10-01", Version: "0.1.0"}
	november = sink.Meta{Kind: "monthly", Crawl: "2026-11-01", Version: "0.1.0"}
	week     = sink.Meta{Kind: "weekly", Crawl: "2026-11-09", Version: "0.1.0"}
)

// Hostile words of the lark's card, all of which the report has to print.
const (
	hostileTag     = `<script>alert("tag")</script>`
	hostileBinding = `"><img src=x onerror=alert(1)>`
	mailTag        = "ask ann.other@person.example now"
	bidiTag        = "safe\u202egnp.exe\x1b[2J"
)

func ptr[T any](v T) *T { return &v }

func micros(day int) int64 { return time.Date(2026, 11, day, 4, 0, 0, 0, time.UTC).UnixMicro() }

// put writes the rows of one table.
func put[T sink.Row](t testing.TB, dir string, meta sink.Meta, rows ...T) {
	t.Helper()
	err := sink.WriteTable(dir, meta, func(yield func(T, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func writeCensus(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	writeMonths(t, dir)
	writeWeek(t, dir)
	return dir
}

func writeMonths(t testing.TB, dir string) {
	t.Helper()
	writeOctober(t, dir)
	put(t, dir, november, finch(), heron(), ibis(), lark())
	put(t, dir, november, novemberSites()...)
	put(t, dir, november, novemberFetches()...)
	put(t, dir, november, sink.CrawlRow{SchemaVersion: sink.SchemaVersion, ListSource: "tranco", ListID: "K2X9W", Entries: 2000, Sites: 2000,
		Cards: 5, Suppressed: 1, OptedOut: 4, Requests: 5100, BodyBytes: 1 << 20, Started: micros(1), Finished: micros(2), SoftwareVersion: "0.1.0"})
}

// writeOctober: the finch as it was, the heron as it is, and the gull, which
// November does not have.
func writeOctober(t testing.TB, dir string) {
	t.Helper()
	before := finch()
	before.BodySHA256, before.CanonSHA256, before.A2AVersion, before.Supports10, before.CardShape = "f-old", "f-canon-old", "0.3", false, "0.x"
	gull := sink.Card{Rank: 800, Site: "gull.example", BodySHA256: "g", CanonSHA256: "g", A2AVersion: "unknown", VersionSource: "none", CardShape: "0.x"}
	put(t, dir, october, before, heron(), gull)
	put(t, dir, october,
		sink.SiteTotal{RankFrom: 1, RankTo: 100, Outcome: "card", Sites: 1},
		sink.SiteTotal{RankFrom: 1, RankTo: 100, Outcome: "not_found", Sites: 99},
		sink.SiteTotal{RankFrom: 101, RankTo: 500, Outcome: "card", Sites: 1},
		sink.SiteTotal{RankFrom: 101, RankTo: 500, Outcome: "timeout", Sites: 199},
		sink.SiteTotal{RankFrom: 501, RankTo: 1000, Outcome: "card", Sites: 1},
		sink.SiteTotal{RankFrom: 501, RankTo: 1000, Outcome: "not_found", Sites: 199})
	put[sink.FetchTotal](t, dir, october)
	put(t, dir, october, sink.CrawlRow{SchemaVersion: sink.SchemaVersion, Entries: 500, Sites: 500, Cards: 3, Requests: 900, Started: micros(1)})
}

func finch() sink.Card {
	return sink.Card{
		Rank: 7, Site: "finch.example", BodySHA256: "f", CanonSHA256: "f-canon", Name: ptr("Finch"), Description: ptr("Sings of ann@person.example"),
		IconURL: ptr("https://finch.example/icon.png"), A2AVersion: "1.0", VersionSource: "interface", CardShape: "union", Supports10: true, Supports03: true,
		VersionConflict: true,
		Interfaces: []sink.Interface{
			{URL: "https://finch-1.eu.run.app/", Binding: "JSONRPC", Host: ptr("finch-1.eu.run.app"), HostKind: "other_site"},
			{URL: "finch-1.eu.run.app:443", Binding: "GRPC", Host: ptr("finch-1.eu.run.app:443"), HostKind: "other_site"}},
		Streaming: ptr(true), PushNotifications: ptr(false), SkillsCount: 2, SkillsKind: "array",
		Skills:      []sink.Skill{{ID: ptr("sing"), Tags: []string{"Music", "text"}}, {ID: ptr("hum"), Tags: []string{"music "}}},
		SchemeTypes: []string{"http", "oauth2"}, SecuritySchemes: []sink.SecurityScheme{{Name: "a", Type: "http"}, {Name: "b", Type: "oauth2"}},
		AuthRequired: ptr("required"), Signed: true, SignaturesCount: 1,
		Signatures: []sink.Signature{{WellFormed: true, Alg: ptr("ES256"), JKU: ptr("https://finch.example/k"), JKUKind: ptr("same_host")}},
		Warnings:   []string{"skill_missing_name"}, CardJSON: ptr(`{"name":"Finch"}`),
	}
}

func heron() sink.Card {
	return sink.Card{
		Rank: 300, Site: "heron.example", BodySHA256: "h", CanonSHA256: "h", A2AVersion: "0.3", VersionSource: "card", CardShape: "0.x", Supports03: true,
		Interfaces: []sink.Interface{{URL: "https://heron.example/", Binding: "JSONRPC", Host: ptr("heron.example"), HostKind: "same_host"}},
		Streaming:  ptr(true), SkillsCount: 1, SkillsKind: "array", Skills: []sink.Skill{{ID: ptr("wade"), Tags: []string{"text"}}},
		SchemeTypes: []string{"http"}, SecuritySchemes: []sink.SecurityScheme{{Name: "a", Type: "http"}}, AuthRequired: ptr("optional"),
	}
}

func ibis() sink.Card {
	return sink.Card{
		Rank: 900, Site: "ibis.example", BodySHA256: "i", CanonSHA256: "i", A2AVersion: "0.2", VersionSource: "shape", CardShape: "0.x",
		Interfaces: []sink.Interface{{URL: "http://localhost:8000/", Binding: "JSONRPC", Host: ptr("localhost:8000"), HostKind: "loopback"}},
		Streaming:  ptr(false), SkillsKind: "absent", SignaturesCount: 1, Signatures: []sink.Signature{{Alg: ptr("HS256"), Unverifiable: true}},
		Warnings: []string{"skill_missing_name", "url_not_https"}, LegacyAuth: []string{"bearer"},
	}
}

func lark() sink.Card {
	return sink.Card{
		Rank: 70_000, Site: "lark.example", BodySHA256: "l", CanonSHA256: "l", A2AVersion: "1.0", VersionSource: "interface", CardShape: "1.x", Supports10: true,
		Interfaces: []sink.Interface{
			{URL: "https://lark.vercel.app/", Binding: hostileBinding, Host: ptr("lark.vercel.app"), HostKind: "other_site"},
			{URL: "https://api.perch.example.co.uk/", Binding: "JSONRPC", Host: ptr("api.perch.example.co.uk"), HostKind: "other_site"}},
		SkillsCount: 4, SkillsKind: "array", Skills: []sink.Skill{{Tags: []string{hostileTag, mailTag}}, {Tags: []string{bidiTag}}, {}, {}},
		Warnings: []string{"url_not_https"},
	}
}

// novemberSites add up to 2,000 entries: 1,980 listed, 1,200 readable, 5 cards.
func novemberSites() []sink.SiteTotal {
	return []sink.SiteTotal{
		{RankFrom: 1, RankTo: 100, Outcome: "card", Sites: 1},
		{RankFrom: 1, RankTo: 100, Outcome: "not_found", Sites: 79},
		{RankFrom: 1, RankTo: 100, Outcome: "opted_out", Sites: 4},
		{RankFrom: 1, RankTo: 100, Outcome: "timeout", Reason: "connect", Sites: 16},
		{RankFrom: 101, RankTo: 500, Outcome: "card", Sites: 1},
		{RankFrom: 101, RankTo: 500, Outcome: "challenged", Reason: "wall", Sites: 80},
		{RankFrom: 101, RankTo: 500, Outcome: "soft_404", Reason: "html", Sites: 319},
		{RankFrom: 501, RankTo: 1000, Outcome: "card", Sites: 2},
		{RankFrom: 501, RankTo: 1000, Outcome: "robots_disallowed", Sites: 200},
		{RankFrom: 501, RankTo: 1000, Outcome: "robots_unreadable", Reason: "challenge_wall", Sites: 48},
		{RankFrom: 501, RankTo: 1000, Outcome: "soft_404", Reason: "html", Sites: 250},
		{RankFrom: 50001, RankTo: 100000, Outcome: "card", Sites: 1},
		{RankFrom: 50001, RankTo: 100000, Outcome: "client_error", Sites: 47},
		{RankFrom: 50001, RankTo: 100000, Outcome: "dns_not_found", Sites: 432},
		{RankFrom: 50001, RankTo: 100000, Outcome: "duplicate", Sites: 15},
		{RankFrom: 50001, RankTo: 100000, Outcome: "invalid_name", Sites: 5},
		{RankFrom: 50001, RankTo: 100000, Outcome: "not_found", Sites: 500},
	}
}

func novemberFetches() []sink.FetchTotal {
	return []sink.FetchTotal{
		{RankFrom: 1, RankTo: 100, Path: "/.well-known/agent-card.json", Outcome: "card", HTTPStatus: ptr(int32(200)), Fetches: 4, Requests: 4},
		{RankFrom: 1, RankTo: 100, Path: "/.well-known/agent-card.json", Outcome: "not_found", HTTPStatus: ptr(int32(404)), Fetches: 600, Requests: 601},
		{RankFrom: 1, RankTo: 100, Path: "/.well-known/agent.json", Outcome: "card", HTTPStatus: ptr(int32(200)), Fetches: 1, Requests: 1},
		{RankFrom: 1, RankTo: 100, Path: "/.well-known/agent.json", Outcome: "not_found", HTTPStatus: ptr(int32(404)), Fetches: 579, Requests: 579},
		{RankFrom: 1, RankTo: 100, Path: "/robots.txt", Outcome: "no_rules", HTTPStatus: ptr(int32(404)), Fetches: 900, Requests: 900},
		{RankFrom: 1, RankTo: 100, Path: "/robots.txt", Outcome: "rules", HTTPStatus: ptr(int32(200)), Fetches: 300, Requests: 330},
	}
}

// writeWeek: the finch is up and changed, the heron up and unchanged, the
// ibis's card is gone, of the lark nobody knows, the owl keeps the bot out.
func writeWeek(t testing.TB, dir string) {
	t.Helper()
	checks := []sink.Check{
		{Rank: 7, Site: "finch.example", Status: "up", HTTPCode: ptr(int32(200)), LatencyMS: ptr(int64(60)), CheckedAt: ptr(micros(9))},
		{Rank: 300, Site: "heron.example", Status: "up", HTTPCode: ptr(int32(200)), LatencyMS: ptr(int64(100)), CheckedAt: ptr(micros(9))},
		{Rank: 900, Site: "ibis.example", Status: "down", HTTPCode: ptr(int32(404)), Error: ptr("not_found"), CheckedAt: ptr(micros(9))},
		{Rank: 70_000, Site: "lark.example", Status: "unknown", Error: ptr("timeout"), CheckedAt: ptr(micros(9))},
		{Rank: 80_000, Site: "owl.example", Status: "skipped", Error: ptr("robots_disallowed")},
	}
	for i := range checks {
		if err := checks[i].Previous(november.Kind, november.Crawl); err != nil {
			t.Fatal(err)
		}
	}
	now, then, same, gone := finch(), finch(), heron(), ibis()
	now.BodySHA256, now.CanonSHA256 = "f-new", "f-canon-new"
	checks[0].Compare(&then, &now)
	checks[1].Compare(&same, &same)
	checks[2].Compare(&gone, nil)
	put(t, dir, week, now, heron())
	put(t, dir, week,
		sink.SiteTotal{RankFrom: 1, RankTo: 100, Outcome: "card", Sites: 1},
		sink.SiteTotal{RankFrom: 101, RankTo: 500, Outcome: "card", Sites: 1},
		sink.SiteTotal{RankFrom: 501, RankTo: 1000, Outcome: "not_found", Sites: 1},
		sink.SiteTotal{RankFrom: 50001, RankTo: 100000, Outcome: "robots_disallowed", Sites: 1},
		sink.SiteTotal{RankFrom: 50001, RankTo: 100000, Outcome: "timeout", Sites: 1})
	put[sink.FetchTotal](t, dir, week)
	put(t, dir, week, checks...)
	put(t, dir, week, sink.CrawlRow{SchemaVersion: sink.SchemaVersion, Entries: 5, Sites: 5, Cards: 2, Requests: 12, Started: micros(9)})
}

// command runs one command line and returns what it printed.
func command(t testing.TB, args ...string) (out, errs string, status int) {
	t.Helper()
	return commandWith(t, "", args...)
}

func commandWith(t testing.TB, stdin string, args ...string) (out, errs string, status int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(t.Context(), args, streams{strings.NewReader(stdin), &stdout, &stderr})
	return stdout.String(), stderr.String(), status
}

// pageOf makes the page of a census and returns it and its path.
func pageOf(t testing.TB, dir string) (page, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "census.html")
	if out, errs, status := command(t, "report", "--data", dir, "--out", path); status != exitDone || out != "" || errs != "" {
		t.Fatalf("report: status %d, %q, %q", status, out, errs)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), path
}

// summaryOf returns `summary --json`.
func summaryOf(t testing.TB, dir string) summaryJSON {
	t.Helper()
	out, errs, status := command(t, "summary", "--data", dir, "--json")
	if status != exitDone || errs != "" {
		t.Fatalf("summary: status %d, %q", status, errs)
	}
	var s summaryJSON
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	return s
}
