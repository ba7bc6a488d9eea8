package sink

import (
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentcensus/pipeline/agentcard"
)

// bodies are cards of each generation, by rule and wire form.
var bodies = map[string]string{
	"0.3": `{"name":"Rowan","description":"","url":"https://rowan.example/a2a","version":"1.2","protocolVersion":"0.3.0",
		"preferredTransport":"JSONRPC","additionalInterfaces":[{"url":"grpc.rowan.example:443","transport":"grpc"}],
		"capabilities":{"streaming":"True","pushNotifications":false,"extensions":[{"uri":"https://ext.example/a","required":false}]},
		"defaultInputModes":["text/plain"],"defaultOutputModes":[],"skills":[{"id":"s1","name":"One","tags":["a","b"]},{"name":"Two","tags":null}],
		"securitySchemes":{"key":{"type":"apiKey","in":"header","name":"X-K"},"o":{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"https://rowan.example/t","scopes":{}}}}},
		"security":[{"o":["read","write"]},{}],"provider":{"organization":"Rowan Ltd","url":"https://rowan.example"}}`,
	"1.0": `{"name":"Sorrel","description":"d","version":"1","supportedInterfaces":[{"url":"https://sorrel.example/","protocolBinding":"HTTP+JSON","protocolVersion":"1.0","tenant":"t1"}],
		"securitySchemes":{"bearer":{"httpAuthSecurityScheme":{"scheme":"Bearer","bearerFormat":"JWT"}}},"securityRequirements":[{"schemes":{"bearer":{"list":[]}}}],
		"signatures":[{"protected":"eyJhbGciOiJFUzI1NiIsImtpZCI6ImsxIiwiamt1IjoiaHR0cHM6Ly9rZXlzLnRlc3QvandrcyJ9","signature":"AAAA","header":{"x":1}}]}`,
	"least": `{"name":"Thyme","supportedInterfaces":[{"url":"https://thyme.example","protocolBinding":"JSONRPC"}]}`,
	"nulls": `{"name":"Umber","url":"","version":null,"capabilities":{"streaming":null,"pushNotifications":false},"skills":[],"defaultInputModes":[],"provider":null,"iconUrl":""}`,
	"odd":   `{"name":"Violet \u0000 \u202e \"quoted\"\n雪","url":"https://violet.example","capabilities":{"streaming":true},"skills":[{"id":"x"},"text",7],"authentication":{"schemes":["Basic"]}}`,
}

func rowOf(t interface{ Fatalf(string, ...any) }, rank int64, site, body string) Card {
	verdict, card := agentcard.Read([]byte(body))
	if verdict.Kind != agentcard.Is {
		t.Fatalf("%s is %v", body, verdict)
	}
	card.Relate(site)
	return NewCard(Published{Rank: rank, Site: site, Path: "/.well-known/agent-card.json", CardURL: "https://" + site + "/.well-known/agent-card.json",
		FetchedAt: time.Date(2026, 12, 1, 5, 6, 7, 89_000, time.UTC), HTTPStatus: 200, Latency: 81 * time.Millisecond,
		Rule: verdict.Reason, ContentType: ptr("application/json"), ETag: ptr(""), Body: []byte(body)}, card)
}

// readBack writes rows and compares what DuckDB reads with them.
func readBack(t *testing.T, db *sql.DB, dir string, rows []Card) string {
	t.Helper()
	put(t, dir, december, rows...)
	var want []map[string]any
	for _, row := range rows {
		want = append(want, plain(row))
	}
	return cmp.Diff(want, duckRows(t, db, "SELECT * FROM read_parquet('"+pathOf[Card](dir, december)+"', hive_partitioning = false)"))
}

func TestDuckDBReadsWhatReadReturned(t *testing.T) {
	dir := t.TempDir()
	db := openDuck(t, dir)
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			row := rowOf(t, 1, "site.example", body)
			if diff := readBack(t, db, dir, []Card{row}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if row.CardJSON == nil || *row.CardJSON != body || row.BodyBytes != int64(len(body)) {
				t.Error("the body is not the one received")
			}
		})
	}
}

func TestDuckDBReadsWhatReadReturnedOfAnyCard(t *testing.T) {
	dir := t.TempDir()
	db := openDuck(t, dir)
	rapid.Check(t, func(r *rapid.T) {
		var rows []Card
		for i := range rapid.IntRange(1, 12).Draw(r, "cards") {
			rows = append(rows, rowOf(r, int64(i+1), "site.example", drawBody(r)))
		}
		if diff := readBack(t, db, dir, rows); diff != "" {
			r.Fatalf("(-want +got)\n%s", diff)
		}
	})
}

// drawBody draws a card with any of the fields, any of them absent, null, of
// the right or of a wrong type.
func drawBody(r *rapid.T) string {
	text := rapid.OneOf(rapid.StringMatching(`[a-zA-Z0-9 .:/-]{0,12}`), rapid.String(), rapid.SampledFrom([]string{"", "text", "https://x.example/a", "JSONRPC", "1.0", "0.3.0"}))
	value := func(label string, right any) any {
		switch rapid.IntRange(0, 9).Draw(r, label) {
		case 0:
			return nil
		case 1:
			return 7.5
		case 2:
			return []any{}
		case 3:
			return map[string]any{}
		}
		return right
	}
	texts := func(label string) any { return value(label, rapid.SliceOfN(text, 0, 3).Draw(r, label)) }
	card := map[string]any{
		"name":                "N" + text.Draw(r, "name"),
		"supportedInterfaces": []any{map[string]any{"url": "u" + text.Draw(r, "url"), "protocolBinding": text.Draw(r, "binding"), "protocolVersion": "1.0"}}, // rule R1: a card whatever the rest is
	}
	optional := map[string]any{
		"description": value("description", text.Draw(r, "description")), "version": value("own", text.Draw(r, "own")),
		"url": value("top", text.Draw(r, "top")), "protocolVersion": value("pv", text.Draw(r, "pv")),
		"provider":          value("provider", map[string]any{"organization": text.Draw(r, "org"), "url": value("purl", text.Draw(r, "purl"))}),
		"capabilities":      map[string]any{"streaming": value("streaming", rapid.Bool().Draw(r, "streaming")), "extensions": []any{map[string]any{"uri": text.Draw(r, "uri"), "required": value("req", true)}}},
		"defaultInputModes": texts("in"), "defaultOutputModes": texts("out"),
		"skills":          value("skills", []any{map[string]any{"id": value("id", text.Draw(r, "id")), "name": text.Draw(r, "skill"), "tags": texts("tags")}}),
		"securitySchemes": value("schemes", map[string]any{text.Draw(r, "key"): map[string]any{"type": text.Draw(r, "type"), "scheme": "bearer"}}),
		"security":        value("security", []any{map[string]any{text.Draw(r, "need"): texts("scopes")}}),
		"signatures":      value("signatures", []any{map[string]any{"protected": "eyJhbGciOiJFUzI1NiJ9", "signature": text.Draw(r, "sig")}}),
	}
	for _, name := range slices.Sorted(maps.Keys(optional)) {
		if rapid.Bool().Draw(r, "has "+name) {
			card[name] = optional[name]
		}
	}
	body, err := json.Marshal(card)
	if err != nil {
		r.Fatal(err)
	}
	return string(body)
}

func TestFactsBecomeColumns(t *testing.T) {
	row := rowOf(t, 12, "rowan.example", bodies["0.3"])
	for name, check := range map[string]struct{ got, want any }{
		"an empty text is not stated":      {row.Description, (*string)(nil)},
		"a text boolean":                   {row.Streaming, ptr(true)},
		"a boolean":                        {row.PushNotifications, ptr(false)},
		"no boolean":                       {row.ExtendedCard, (*bool)(nil)},
		"the header that was empty":        {row.ETag, ptr("")},
		"the header that was not there":    {row.CacheControl, (*string)(nil)},
		"skills":                           {row.Skills, []Skill{{ID: ptr("s1"), Name: ptr("One"), Tags: []string{"a", "b"}}, {Name: ptr("Two")}}},
		"anonymous access":                 {row.AuthRequired, ptr("optional")},
		"alternatives":                     {row.Requirements, []Requirement{{Schemes: []RequiredScheme{{Name: "o", Scopes: []string{"read", "write"}}}}, {Schemes: []RequiredScheme{}}}},
		"the relation to the site":         {row.Interfaces[0].HostKind, "same_host"},
		"the relation of another host":     {row.Interfaces[1].HostKind, "same_site"},
		"the time":                         {row.FetchedAt, time.Date(2026, 12, 1, 5, 6, 7, 89_000, time.UTC).UnixMicro()},
		"the latency":                      {row.LatencyMS, ptr(int64(81))},
		"the rule":                         {row.Rule, "R3"},
		"where the organisation was found": {row.ProviderOrganizationFrom, ptr("organization")},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(check.want, check.got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A header may hold any byte; one of them must not make the file unreadable.
func TestHeadersThatAreNoUTF8(t *testing.T) {
	dir := t.TempDir()
	row := NewCard(Published{Rank: 1, Site: "a.example", ETag: ptr("\"caf\xe9\"")}, agentcard.Card{})
	if diff := readBack(t, openDuck(t, dir), dir, []Card{row}); diff != "" || !strings.Contains(*row.ETag, "caf\uFFFD") {
		t.Errorf("etag %q (-want +got)\n%s", *row.ETag, diff)
	}
}
