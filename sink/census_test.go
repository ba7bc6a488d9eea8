package sink

import (
	"testing"
	"time"
)

// The small census that the views are tested on: two months, a week, and a
// crawl that was never published. All of it is made up.
var (
	november = Meta{Kind: "monthly", Crawl: "2026-11-01", Version: "0.1.0"}
	december = Meta{Kind: "monthly", Crawl: "2026-12-01", Version: "0.1.0"}
	week     = Meta{Kind: "weekly", Crawl: "2026-12-08", Version: "0.1.0"}
	stopped  = Meta{Kind: "adhoc", Crawl: "2026-12-15", Version: "0.1.0"}
)

func micros(day int) int64 {
	return time.Date(2026, 12, day, 3, 30, 0, 125_000, time.UTC).UnixMicro()
}

// writeCensus writes the census into a new directory.
func writeCensus(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()

	put(t, dir, november, novemberCards()...)
	put(t, dir, november,
		SiteTotal{RankFrom: 1, RankTo: 100, Outcome: "card", Sites: 1},
		SiteTotal{RankFrom: 1, RankTo: 100, Outcome: "not_found", Sites: 99},
		SiteTotal{RankFrom: 101, RankTo: 500, Outcome: "card", Sites: 1},
		SiteTotal{RankFrom: 501, RankTo: 1000, Outcome: "card", Sites: 1})
	put[FetchTotal](t, dir, november)
	put[Check](t, dir, november)
	put(t, dir, november, CrawlRow{SchemaVersion: SchemaVersion, Entries: 102, Sites: 102, Cards: 3, Requests: 300, Started: micros(1)})

	put(t, dir, december, aster(), birch(), cedar(), dahlia())
	put(t, dir, december, decemberSites()...)
	put(t, dir, december, decemberFetches()...)
	put[Check](t, dir, december)
	put(t, dir, december, CrawlRow{SchemaVersion: SchemaVersion, ListSource: "tranco", ListID: "ABCD1", Entries: 1000, Sites: 1000,
		Cards: 5, Suppressed: 1, OptedOut: 3, Requests: 2400, Started: micros(1), Finished: micros(2), Settings: `{"in_flight":60}`})

	put(t, dir, week, aster(), birch())
	put(t, dir, week,
		SiteTotal{RankFrom: 1, RankTo: 100, Outcome: "card", Sites: 1},
		SiteTotal{RankFrom: 101, RankTo: 500, Outcome: "card", Sites: 1},
		SiteTotal{RankFrom: 1001, RankTo: 5000, Outcome: "not_found", Sites: 1},
		SiteTotal{RankFrom: 100001, RankTo: 500000, Outcome: "timeout", Reason: "connect", Sites: 1})
	put[FetchTotal](t, dir, week)
	put(t, dir, week, weekChecks(t)...)
	put(t, dir, week, CrawlRow{SchemaVersion: SchemaVersion, Entries: 4, Sites: 4, Cards: 2, Requests: 9, Started: micros(8)})

	put(t, dir, stopped, Card{Rank: 9, Site: "unpublished.example"})
	put(t, dir, stopped, SiteTotal{RankFrom: 1, RankTo: 100, Outcome: "card", Sites: 1})
	return dir
}

// novemberCards: aster with another body and version, birch as in December, and
// elm, which December does not know.
func novemberCards() []Card {
	before := aster()
	before.BodySHA256, before.CanonSHA256, before.A2AVersion = "body-a-old", "canon-a-old", "0.2"
	return []Card{before, birch(), {Rank: 700, Site: "elm.example", BodySHA256: "body-e", CanonSHA256: "canon-e", A2AVersion: "0.3"}}
}

func aster() Card {
	return Card{
		Rank: 1, Site: "aster.example", Path: "/.well-known/agent-card.json", CardURL: "https://aster.example/.well-known/agent-card.json",
		FetchedAt: micros(1), HTTPStatus: 200, LatencyMS: ptr(int64(80)), ContentType: ptr("application/json"),
		CacheControl: ptr("max-age=60"), ETag: ptr(`"1"`), LastModified: ptr(""),
		BodyBytes: 1000, BodySHA256: "body-a", CanonSHA256: "canon-a", Rule: "R3",
		Name: ptr("Aster"), Description: ptr("Finds & plans.\n\"Quoted\" – and 雪"), AgentVersion: ptr("2.1.0"),
		ProviderOrganization: ptr("Aster Works"), ProviderOrganizationFrom: ptr("organization"), DocumentationURL: ptr("https://aster.example/docs"),
		A2AVersion: "0.3", VersionSource: "card", CardShape: "0.x", DeclaredVersions: []string{"0.3.0"}, Supports03: true,
		Interfaces: []Interface{{URL: "https://aster.example/rpc", Binding: "JSONRPC", BindingRaw: "JSONRPC", DeclaredIn: "url",
			Host: ptr("aster.example"), HostKind: "same_host"}},
		Bindings: []string{"JSONRPC"}, InterfaceHosts: []string{"aster.example"},
		Streaming: ptr(true), PushNotifications: ptr(false),
		InputModes: []string{"text/plain"}, OutputModes: []string{"text/plain", "application/json"},
		SkillsCount: 2, SkillsKind: "array",
		Skills:          []Skill{{ID: ptr("find"), Name: ptr("Find"), Tags: []string{"Search", "text"}}, {ID: ptr("plan"), Tags: []string{"search ", ""}}},
		SecuritySchemes: []SecurityScheme{{Name: "token", Type: "http", HTTPScheme: ptr("bearer")}},
		SchemeTypes:     []string{"http"}, HTTPSchemes: []string{"bearer"}, AuthRequired: ptr("required"),
		Requirements: []Requirement{{Schemes: []RequiredScheme{{Name: "token", Scopes: []string{"read", "write"}}}}},
		Signed:       true, SignaturesCount: 1,
		Signatures: []Signature{{WellFormed: true, Alg: ptr("ES256"), Kid: ptr("k1"), Typ: ptr("JOSE"), JKU: ptr("https://aster.example/keys"),
			JKUHost: ptr("aster.example"), JKUKind: ptr("same_host"), LengthPlausible: ptr(true)}},
		Warnings: []string{"skill_missing_description"}, CardJSON: ptr(`{"name":"Aster"}`),
	}
}

// birch and cedar are copies of one template, at two sites.
func birch() Card {
	return Card{
		Rank: 150, Site: "birch.example", Path: "/.well-known/agent-card.json", FetchedAt: micros(1), HTTPStatus: 200,
		BodyBytes: 2000, BodySHA256: "body-b", CanonSHA256: "canon-template", Rule: "R1",
		Name: ptr("Echo"), A2AVersion: "1.0", VersionSource: "interface", CardShape: "1.x", DeclaredVersions: []string{"1.0"}, Supports10: true,
		Interfaces: []Interface{
			{URL: "https://birch-x7.a.run.app/", Binding: "JSONRPC", BindingRaw: "JSONRPC", Version: ptr("1.0"), VersionRaw: ptr("1.0"),
				DeclaredIn: "supportedInterfaces", Host: ptr("birch-x7.a.run.app"), HostKind: "other_site"},
			{URL: "birch-x7.a.run.app:443", Binding: "GRPC", BindingRaw: "grpc", Version: ptr("1.0"), VersionRaw: ptr("1.0"),
				DeclaredIn: "supportedInterfaces", Host: ptr("birch-x7.a.run.app:443"), HostKind: "other_site"},
		},
		Bindings: []string{"JSONRPC", "GRPC"}, InterfaceHosts: []string{"birch-x7.a.run.app", "birch-x7.a.run.app:443"},
		Streaming: ptr(false), ExtendedCard: ptr(true),
		Extensions: []Extension{{URI: ptr("https://ext.example/pay/v1"), Required: ptr(true)}, {URI: ptr("https://ext.example/trace")}},
		InputModes: []string{"text/plain"}, OutputModes: []string{"text/plain", "text/plain"},
		SkillsCount: 1, SkillsKind: "array", Skills: []Skill{{ID: ptr("echo"), Tags: []string{"text"}}},
		CardJSON: ptr(`{"name":"Echo"}`),
	}
}

func cedar() Card {
	card := birch()
	card.Rank, card.Site, card.BodySHA256, card.BodyBytes = 2000, "cedar.example", "body-c", 2002
	card.CardShape, card.VersionConflict, card.Supports03 = "union", true, true
	card.Interfaces = []Interface{{URL: "http://localhost:9000/", Binding: "JSONRPC", BindingDefaulted: true, DeclaredIn: "url",
		Host: ptr("localhost:9000"), HostKind: "loopback"}}
	card.Bindings, card.InterfaceHosts = []string{"JSONRPC"}, []string{"localhost:9000"}
	card.Extensions = []Extension{{URI: ptr("https://ext.example/trace"), Required: ptr(false)}}
	card.SecuritySchemes = []SecurityScheme{
		{Name: "key", Type: "apiKey", APIKeyIn: ptr("header"), APIKeyName: ptr("X-Key")},
		{Name: "login", Type: "oauth2", OAuthFlows: []string{"authorizationCode", "clientCredentials"}},
	}
	card.SchemeTypes, card.APIKeyLocations = []string{"apiKey", "oauth2"}, []string{"header"}
	card.OAuthFlows, card.LegacyAuth = []string{"authorizationCode", "clientCredentials"}, []string{"bearer"}
	card.AuthRequired = ptr("optional")
	card.Requirements = []Requirement{{}, {Schemes: []RequiredScheme{{Name: "login"}, {Name: "key"}}}}
	card.Warnings = []string{"url_not_https"}
	return card
}

func dahlia() Card {
	return Card{
		Rank: 200_000, Site: "dahlia.example", Path: "/.well-known/agent.json", FetchedAt: micros(2), HTTPStatus: 203,
		BodyBytes: 400, BodySHA256: "body-d", CanonSHA256: "canon-d", Rule: "R4",
		Name: ptr("Dahlia"), ProviderOrganization: ptr("Aster Works"), ProviderOrganizationFrom: ptr("name"), IconURL: ptr("https://dahlia.example/i.png"),
		A2AVersion: "unknown", VersionSource: "none", CardShape: "0.x",
		Interfaces: []Interface{{URL: "wss://dahlia.vercel.app/a2a", Binding: "MCP", BindingRaw: "MCP", DeclaredIn: "additionalInterfaces",
			Host: ptr("dahlia.vercel.app"), HostKind: "other_site"}},
		Bindings: []string{"MCP"}, InterfaceHosts: []string{"dahlia.vercel.app"},
		SkillsKind: "null", SignaturesCount: 1,
		Signatures: []Signature{{Alg: ptr("HS256"), Unverifiable: true}},
		Warnings:   []string{"skill_missing_description", "url_not_https"}, CardJSON: ptr(`{"name":"Dahlia"}`),
	}
}

// decemberSites add up to a list of 1,000: 980 listed, 300 readable, 5 cards.
func decemberSites() []SiteTotal {
	return []SiteTotal{
		{RankFrom: 1, RankTo: 100, Outcome: "card", Sites: 1},
		{RankFrom: 1, RankTo: 100, Outcome: "not_found", Sites: 40},
		{RankFrom: 1, RankTo: 100, Outcome: "opted_out", Sites: 3},
		{RankFrom: 1, RankTo: 100, Outcome: "timeout", Reason: "connect", Sites: 6},
		{RankFrom: 101, RankTo: 500, Outcome: "card", Sites: 2},
		{RankFrom: 101, RankTo: 500, Outcome: "challenged", Reason: "wall", Sites: 8},
		{RankFrom: 101, RankTo: 500, Outcome: "soft_404", Reason: "html", Sites: 107},
		{RankFrom: 1001, RankTo: 5000, Outcome: "card", Sites: 1},
		{RankFrom: 1001, RankTo: 5000, Outcome: "client_error", Sites: 9},
		{RankFrom: 1001, RankTo: 5000, Outcome: "duplicate", Sites: 15},
		{RankFrom: 1001, RankTo: 5000, Outcome: "invalid_name", Reason: "label_too_long", Sites: 5},
		{RankFrom: 1001, RankTo: 5000, Outcome: "robots_disallowed", Sites: 120},
		{RankFrom: 1001, RankTo: 5000, Outcome: "robots_unreadable", Reason: "challenge_wall", Sites: 30},
		{RankFrom: 1001, RankTo: 5000, Outcome: "robots_unreadable", Reason: "redirect", Sites: 2},
		{RankFrom: 100001, RankTo: 500000, Outcome: "card", Sites: 1},
		{RankFrom: 100001, RankTo: 500000, Outcome: "dns_not_found", Sites: 511},
		{RankFrom: 100001, RankTo: 500000, Outcome: "near_card", Reason: "partial", Sites: 4},
		{RankFrom: 100001, RankTo: 500000, Outcome: "not_a_card", Reason: "openapi", Sites: 135},
	}
}

func decemberFetches() []FetchTotal {
	return []FetchTotal{
		{RankFrom: 1, RankTo: 100, Path: "/.well-known/agent-card.json", Outcome: "card", HTTPStatus: ptr(int32(200)), Fetches: 4, Requests: 5, BodyBytes: 7000, ElapsedMS: 400},
		{RankFrom: 1, RankTo: 100, Path: "/.well-known/agent-card.json", Outcome: "not_found", HTTPStatus: ptr(int32(404)), Fetches: 11, Requests: 11, ElapsedMS: 900},
		{RankFrom: 1, RankTo: 100, Path: "/.well-known/agent-card.json", Outcome: "robots_disallowed", Fetches: 1},
		{RankFrom: 1, RankTo: 100, Path: "/.well-known/agent.json", Outcome: "card", HTTPStatus: ptr(int32(203)), Fetches: 1, Requests: 1},
		{RankFrom: 1, RankTo: 100, Path: "/.well-known/agent.json", Outcome: "not_found", HTTPStatus: ptr(int32(404)), Fetches: 9, Requests: 9},
		{RankFrom: 1, RankTo: 100, Path: "/robots.txt", Outcome: "no_rules", Reason: "status_404", HTTPStatus: ptr(int32(404)), Fetches: 6, Requests: 6},
		{RankFrom: 1, RankTo: 100, Path: "/robots.txt", Outcome: "rules", HTTPStatus: ptr(int32(200)), Fetches: 10, Requests: 12},
	}
}

// weekChecks: aster changed, birch did not, cedar's card is gone, and of dahlia
// nobody knows.
func weekChecks(t *testing.T) []Check {
	t.Helper()
	checks := []Check{
		{Rank: 1, Site: "aster.example", Status: "up", HTTPCode: ptr(int32(200)), LatencyMS: ptr(int64(70)), Target: ptr("https://aster.example/.well-known/agent-card.json"), CheckedAt: ptr(micros(8))},
		{Rank: 150, Site: "birch.example", Status: "up", HTTPCode: ptr(int32(200)), LatencyMS: ptr(int64(90)), CheckedAt: ptr(micros(8))},
		{Rank: 2000, Site: "cedar.example", Status: "down", HTTPCode: ptr(int32(404)), Error: ptr("not_found"), Reasons: []string{"status_404"}, CheckedAt: ptr(micros(8))},
		{Rank: 200_000, Site: "dahlia.example", Status: "unknown", Error: ptr("timeout"), Reasons: []string{"connect"}, CheckedAt: ptr(micros(8))},
	}
	for i := range checks {
		if err := checks[i].Previous(december.Kind, december.Crawl); err != nil {
			t.Fatal(err)
		}
	}
	before, after, same, gone := aster(), aster(), birch(), cedar()
	before.BodySHA256, before.Skills, before.Signed = "body-a-old", []Skill{{ID: ptr("find")}, {Name: ptr("Sing")}}, false
	checks[0].Compare(&before, &after)
	checks[1].Compare(&same, &same)
	checks[2].Compare(&gone, nil)
	return checks
}
