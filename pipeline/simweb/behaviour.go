package simweb

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// behaviour is one way to answer a request: what is sent, and beside it what an
// honest crawl must make of it, at /robots.txt and at a card path.
type behaviour struct {
	name string

	// A plain answer: status, further header lines, and a body.
	status int
	header string
	body   func(p *plan, host, path string) []byte
	// play answers instead, and says whether the connection goes on.
	play func(x *exchange) bool
	// bytes of body that play makes a crawl count, decoded: at a card path and
	// at /robots.txt, whose limits differ.
	bytes, robotsBytes int64

	robots, card effect
	denies       [2]string // why a robots.txt disallows the card path and the legacy one: "", "star_group" or "named_group"
	deniesHome   bool      // it disallows "/" too, though not both card paths
	deniesMore   []string  // what else it disallows, as in Entry.Denies
	template     *template // of the card in the body
	hops         hops
	unread       bool          // nothing of the plain answer's body can be decoded
	delay        time.Duration // before its header
	// custom marks an answer of a scenario whose meaning only the scenario can say.
	custom bool
	shuts  bool // a custom answer ends the site when it is its robots.txt
}

// effect is what a crawl reports of one fetch.
type effect struct {
	outcome, reason string
	status          int
}

// hops is how many URLs a behaviour makes a crawl ask.
type hops int

const (
	hopNone hops = iota
	hopHome      // to "/" of the same host
	hopTwo       // two URLs that redirect to each other
	hopMaze      // each URL redirects to a new one
)

func (b *behaviour) effectAt(path string) effect {
	if path == RobotsPath {
		return b.robots
	}
	return b.card
}

// bodyBytes is the length of the decoded body a crawl reads.
func (b *behaviour) bodyBytes(p *plan, host, path string) int64 {
	switch {
	case b.template != nil: // in whatever form it is sent
	case b.play != nil && path == RobotsPath && b.robotsBytes != 0:
		return b.robotsBytes
	case b.play != nil || b.body == nil || b.unread:
		return b.bytes
	}
	n := int64(len(b.body(p, host, path)))
	if path == RobotsPath {
		return min(n, robotsLimit)
	}
	return min(n, cardLimit)
}

// The body limits of a crawl, in decoded bytes.
const (
	robotsLimit = 512_000
	cardLimit   = 262_144
)

// denied lists what b as a robots.txt disallows, as in Entry.Denies.
func (b *behaviour) denied() []string {
	out := slices.Clone(b.deniesMore)
	for i, path := range [...]string{CardPath, LegacyPath} {
		if b.denies[i] != "" {
			out = append(out, path)
		}
	}
	if b.deniesHome {
		out = append(out, "/$")
	}
	return out
}

// closes says whether b as a robots.txt ends the site.
func (b *behaviour) closes() bool {
	if b.custom {
		return b.shuts
	}
	return b.robots.outcome != "" && b.robots.outcome != "rules" && b.robots.outcome != "no_rules"
}

func text(s string) func(*plan, string, string) []byte {
	return func(*plan, string, string) []byte { return []byte(s) }
}

const (
	htmlType = "Content-Type: text/html; charset=utf-8\r\n"
	jsonType = "Content-Type: application/json\r\n"
	textType = "Content-Type: text/plain\r\n"
)

const (
	movedPage = "<html><head><title>301</title></head><body>This page lives at the www name.</body></html>\n"
	homePage  = "<!doctype html>\n<html lang=\"en\"><head><title>Welcome</title></head>\n<body><h1>Welcome</h1><p>We sell lamps and repair them.</p></body></html>\n"
	lostPage  = "<!DOCTYPE html>\n<html><head><title>Not here</title></head><body><p>There is no such page.</p></body></html>\n"
)

// statusAnswer is an answer whose status alone decides.
func statusAnswer(name string, status int, header, body string) *behaviour {
	b := &behaviour{name: name, status: status, header: header, body: text(body)}
	b.robots = robotsByStatus(status)
	b.card = cardByStatus(status)
	return b
}

func robotsByStatus(status int) effect {
	reason := fmt.Sprintf("status_%d", status)
	switch {
	case status == http.StatusTooManyRequests, status >= 500:
		return effect{"robots_unreachable", reason, status}
	case status >= 400:
		return effect{"no_rules", reason, status}
	case status >= 300:
		return effect{"robots_unreadable", reason, status}
	}
	return effect{"no_rules", "empty", status}
}

func cardByStatus(status int) effect {
	outcome, reason := "client_error", ""
	switch {
	case status == 401, status == 403:
		outcome = "auth_required"
	case status == 402:
		outcome = "payment_required"
	case status == 404, status == 410:
		outcome = "not_found"
	case status == 429:
		outcome = "rate_limited"
	case status >= 500:
		outcome = "server_error"
	case status < 300:
		outcome, reason = "soft_404", fmt.Sprintf("status_%d", status)
	case status < 400:
		outcome, reason = "redirect_refused", fmt.Sprintf("status_%d", status)
	}
	return effect{outcome, reason, status}
}

// bodyAnswer is a 200 whose body decides: card is what it means at a card path,
// at /robots.txt it has no recognisable line unless said otherwise.
func bodyAnswer(name, header, body, outcome, reason string) *behaviour {
	return &behaviour{
		name: name, status: 200, header: header, body: text(body),
		card:   effect{outcome, reason, 200},
		robots: effect{"no_rules", "no_line", 200},
	}
}

// catalogue holds the ways to answer, by name. It is made for each web, since
// some of its bodies are large.
type catalogue map[string]*behaviour

func newCatalogue() catalogue {
	c := catalogue{}
	for _, group := range [...][]*behaviour{
		plainAnswers(), jsonAnswers(), cardAnswers(), challenges(), robotsFiles(), redirects(), hostile(), encodings(),
	} {
		for _, b := range group {
			c[b.name] = b
		}
	}
	return c
}

func plainAnswers() []*behaviour {
	html := bodyAnswer("html", htmlType, homePage, "soft_404", "html")
	html.robots.reason = "html"
	empty := bodyAnswer("empty", textType, "", "soft_404", "empty")
	empty.robots.reason = "empty"
	return []*behaviour{
		html, empty,
		statusAnswer("unknown_host", 421, htmlType, lostPage), // for names that no site has
		bodyAnswer("soft_text", textType, "Sorry, nothing to see under this address.\n", "soft_404", "not_json"),
		statusAnswer("no_content", 204, "", ""),
		statusAnswer("multiple_choices", 300, htmlType, ""),
		statusAnswer("not_modified", 304, "", ""),
		statusAnswer("bad_request", 400, htmlType, lostPage),
		statusAnswer("unauthorized", 401, "WWW-Authenticate: Bearer\r\n"+jsonType, `{"error":"a token is needed"}`),
		statusAnswer("payment_required", 402, jsonType, `{"error":"pay per crawl"}`),
		statusAnswer("forbidden", 403, htmlType, "<html><body><h1>Forbidden</h1></body></html>"),
		statusAnswer("not_found", 404, htmlType, lostPage),
		statusAnswer("not_found_json", 404, jsonType, `{"error":"not found"}`),
		statusAnswer("method_not_allowed", 405, "Allow: POST\r\n", ""),
		statusAnswer("not_acceptable", 406, htmlType, lostPage),
		statusAnswer("gone", 410, htmlType, lostPage),
		statusAnswer("teapot", 418, textType, "short and stout\n"),
		statusAnswer("rate_limited", 429, "Retry-After: 60\r\n", "slow down\n"),
		statusAnswer("legal_reasons", 451, htmlType, lostPage),
		statusAnswer("server_error", 500, htmlType, "<html><body>It broke.</body></html>"),
		statusAnswer("bad_gateway", 502, "", ""),
		statusAnswer("unavailable", 503, "Retry-After: 120\r\n"+htmlType, "<html><body>Back soon.</body></html>"),
		statusAnswer("origin_down", 521, "", ""),
		{
			name: "date_ahead", robots: robotsByStatus(404), card: cardByStatus(404),
			play: func(x *exchange) bool {
				x.status = 404
				ahead := x.web.cfg.Now().Add(26 * time.Hour).UTC().Format(http.TimeFormat)
				return x.last([]byte("HTTP/1.1 404 Not Found\r\nDate: " + ahead + "\r\nContent-Length: 0\r\n\r\n"))
			},
		},
	}
}

// jsonAnswers are bodies that are JSON, or nearly, and no card.
func jsonAnswers() []*behaviour {
	near := `{"name":"Nearly","description":"An agent in its own words","url":"https://nearly.example/agent",
"capabilities":["translate","summarise"],"skills":"see the website"}`
	large := `{"name":"Large","filler":"` + strings.Repeat("x", 300_000) + `"}`
	list := []*behaviour{
		bodyAnswer("near", jsonType, near, "near_card", "partial"),
		bodyAnswer("json_other", jsonType, `{"site":"lamps.example","contact":"the counter"}`, "not_a_card", "other_json"),
		bodyAnswer("json_list", jsonType, `[{"name":"one"},{"name":"two"}]`, "not_a_card", "json_list"),
		bodyAnswer("json_string", jsonType, `"no agents here"`, "not_a_card", "json_str"),
		bodyAnswer("openapi", jsonType, `{"openapi":"3.1.0","info":{"title":"Lamps","version":"2"},"paths":{}}`, "not_a_card", "openapi"),
		bodyAnswer("plugin", jsonType, `{"schema_version":"v1","name_for_model":"lamps","name_for_human":"Lamps"}`, "not_a_card", "ai_plugin"),
		bodyAnswer("mcp", jsonType, `{"mcpServers":{"lamps":{"command":"lampd"}}}`, "not_a_card", "mcp"),
		bodyAnswer("envelope", jsonType, `{"jsonrpc":"2.0","id":1,"result":null}`, "not_a_card", "jsonrpc_envelope"),
		bodyAnswer("wrapped", jsonType, `{"agentCard":{"name":"Inside"}}`, "not_a_card", "wrapped"),
		bodyAnswer("error_200", jsonType, `{"error":"unknown route"}`, "not_a_card", "error"),
		bodyAnswer("json_comma", jsonType, `{"name":"Trailing","skills":[1,2,],}`, "invalid_json", "syntax"),
		bodyAnswer("json_cut", jsonType, `{"name":"Cut","skills":[{"id":"a"`, "invalid_json", "truncated"),
		bodyAnswer("json_trailing", jsonType, `{"name":"Two"} {"name":"values"}`, "invalid_json", "trailing_data"),
		bodyAnswer("large", jsonType, large, "too_large", ""),
	}
	rejected := statusAnswer("version_rejected", 400, jsonType+"Vary: A2A-Version\r\n",
		`{"code":-32009,"message":"this version of the protocol is not supported"}`)
	rejected.card.outcome = "version_rejected"
	return append(list, rejected)
}
