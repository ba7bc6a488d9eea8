package robots_test

import (
	"net/http"
	"strings"
	"testing"

	"agentcensus/pipeline/robots"
)

const (
	card = "/.well-known/agent-card.json"
	bot  = "ExampleBot"
)

// read is the policy of a plain 200 answer.
func read(body string, tokens ...string) *robots.Policy {
	if len(tokens) == 0 {
		tokens = []string{bot}
	}
	return robots.Read(robots.Response{Status: http.StatusOK, Body: []byte(body)}, tokens, robots.RFC9309)
}

// star is a file with one group for everybody.
func star(lines ...string) string { return "User-agent: *\n" + strings.Join(lines, "\n") + "\n" }

// TestGroups: which group applies (RFC 9309 section 2.2.1).
func TestGroups(t *testing.T) {
	tests := []struct {
		name, robots string
		tokens       []string
		allowed      bool
		group        string
		named        bool
	}{
		{"no group applies", "User-agent: OtherBot\nDisallow: /\n", nil, true, "", false},
		{"everybody's group", star("Disallow: /"), nil, false, "*", false},
		{"own group replaces *", "User-agent: *\nDisallow: /\n\nUser-agent: ExampleBot\nAllow: /\n", nil, true, bot, true},
		{"own empty group replaces *", "User-agent: ExampleBot\nDisallow:\n\nUser-agent: *\nDisallow: /\n", nil, true, bot, true},
		{"own group without a rule at the end of the file", "User-agent: *\nDisallow: /\n\nUser-agent: ExampleBot\n", nil, true, bot, true},
		{"* after the own group does not leak into it", "User-agent: ExampleBot\nDisallow: /a\nUser-agent: *\nDisallow: /\n", nil, true, bot, true},
		{"repeated groups merge", "User-agent: ExampleBot\nDisallow: /a\n\nUser-agent: x\nDisallow: /b\n\nUser-agent: examplebot\nDisallow: /.well\n", nil, false, bot, true},
		{"two groups of * merge", star("Disallow: /a") + star("Disallow: /.well-known/"), nil, false, "*", false},
		{"several user agents of one group, ours first", "User-agent: ExampleBot\nUser-agent: x\nDisallow: /\n", nil, false, bot, true},
		{"several user agents of one group, ours last", "User-agent: x\nUser-agent: ExampleBot\nDisallow: /\n", nil, false, bot, true},
		{"own name beside *", "User-agent: *\nUser-agent: ExampleBot\nDisallow: /\n", nil, false, bot, true},
		{"blank lines do not end the run of user agents", "User-agent: ExampleBot\n\n\nUser-agent: x\nDisallow: /\n", nil, false, bot, true},
		{"Crawl-delay does not end it either", "User-agent: *\nCrawl-delay: 5\nUser-agent: x\nDisallow: /\n", nil, false, "*", false},
		{"nor does Sitemap", "User-agent: *\nSitemap: https://site.example/map\nUser-agent: x\nDisallow: /\n", nil, false, "*", false},
		{"an empty rule ends it", "User-agent: *\nDisallow:\nUser-agent: x\nDisallow: /\n", nil, true, "*", false},
		{"Allow is a rule and ends it", "User-agent: *\nContent-Signal: search=yes\nAllow: /\n\nUser-agent: x\nDisallow: /\n", nil, true, "*", false},
		{"rules before the first user agent are ignored", "Disallow: /\nUser-agent: *\nDisallow: /a\n", nil, true, "*", false},
		{"name in any case", "user-AGENT: eXAMPLEbOT\ndISALLOW: /\n", nil, false, bot, true},
		{"name with a version", "User-agent: ExampleBot/2.0\nDisallow: /\n", nil, false, bot, true},
		{"name with a star", "User-agent: ExampleBot*\nDisallow: /\n", nil, false, bot, true},
		{"name with a full stop", "User-agent: ExampleBot.\nDisallow: /\n", nil, false, bot, true},
		{"name with a digit", "User-agent: ExampleBot1\nDisallow: /\n", nil, false, bot, true},
		{"name and more words", "User-agent: ExampleBot and friends\nDisallow: /\n", nil, false, bot, true},
		{"name before a comma", "User-agent: ExampleBot, OtherBot\nDisallow: /\n", nil, false, bot, true},
		{"name after a comma is not read", "User-agent: OtherBot, ExampleBot\nDisallow: /\n", nil, true, "", false},
		{"longer name", "User-agent: ExampleBot-News\nDisallow: /\n", nil, true, "", false},
		{"longer name with underscore", "User-agent: ExampleBot_2\nDisallow: /\n", nil, true, "", false},
		{"shorter name", "User-agent: Example\nDisallow: /\n", nil, true, "", false},
		{"one letter of the name", "User-agent: e\nDisallow: /\n", nil, true, "", false},
		{"empty name", "User-agent:\nDisallow: /\n", nil, true, "", false},
		{"star and words", "User-agent: * all of you\nDisallow: /\n", nil, false, "*", false},
		{"star and letters is a name", "User-agent: *bot\nDisallow: /\n", nil, true, "", false},
		{"name with a number is not the start of a longer number", "User-agent: bot12\nDisallow: /\n", []string{"bot1"}, true, "", false},
		{"first token that has a group, not the first group", "User-agent: b\nDisallow: /\nUser-agent: a\nAllow: /\n", []string{"a", "b"}, true, "a", true},
		{"second token when the first has none", "User-agent: b\nDisallow: /\nUser-agent: *\nAllow: /\n", []string{"a", "b"}, false, "b", true},
		{"tokens may be whole agent strings", "User-agent: ExampleBot\nDisallow: /\n", []string{"ExampleBot/1.0 (+https://bot.example/)"}, false, bot, true},
		{"a star among the tokens is not a name", star("Disallow: /"), []string{"*", ""}, false, "*", false},
		{"no tokens at all", star("Disallow: /"), []string{""}, false, "*", false},
		{"misspelt user agent", "useragent: ExampleBot\nDisallow: /\n", nil, false, bot, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := read(tt.robots, tt.tokens...).Allows(card)
			if d.Allowed != tt.allowed || d.Group != tt.group || d.Named != tt.named {
				t.Errorf("got %+v, want allowed %v by group %q, named %v", d, tt.allowed, tt.group, tt.named)
			}
		})
	}
}

// TestLines: what is a line, and what of it counts (section 2.2).
func TestLines(t *testing.T) {
	tests := []struct {
		name, robots string
		allowed      bool
		line         int // of the deciding rule
	}{
		{"LF", "User-agent: *\nDisallow: /\n", false, 2},
		{"CR LF", "User-agent: *\r\n\r\nDisallow: /\r\n", false, 3},
		{"CR", "User-agent: *\r\rDisallow: /\r", false, 3},
		{"LF CR", "User-agent: *\n\rDisallow: /\n\r", false, 3},
		{"no end at the end", "User-agent: *\nDisallow: /", false, 2},
		{"U+2028 ends no line", "User-agent: *\u2028Disallow: /\u2028", true, 0},
		{"U+0085 ends no line", "User-agent: *\u0085Disallow: /", true, 0},
		{"vertical tab ends no line", "User-agent: *\vDisallow: /", true, 0},
		{"written-out \\n ends no line", `User-agent: *\nDisallow: /\n`, true, 0},
		{"byte order mark", "\uFEFFUser-agent: *\nDisallow: /\n", false, 2},
		{"two byte order marks", "\uFEFF\uFEFFUser-agent: *\nDisallow: /\n", false, 2},
		{"part of a byte order mark", "\xEF\xBBUser-agent: *\nDisallow: /\n", false, 2},
		{"comment after a rule", "User-agent: * # all\nDisallow: /# everything\n", false, 2},
		{"comment without a rule", "#User-agent: *\n# Disallow: /\nUser-agent: *\n", true, 0},
		{"blanks around key, colon and value", " \tUser-agent \t:\t * \n\t Disallow\t :  / \t\n", false, 2},
		{"no blank after the colon", "User-agent:*\nDisallow:/\n", false, 2},
		{"no-break spaces", "User-agent:\u00A0*\u00A0\n\u00A0Disallow\u00A0:\u00A0/\n", false, 2},
		{"zero-width space", "User-agent: *\nDisallow: \u200B/\n", false, 2},
		{"NUL after the path", "User-agent: *\nDisallow: /\x00\n", false, 2},
		{"NUL in the path ends it", "User-agent: *\nDisallow: /.well-known/\x00x\n", false, 2},
		{"NUL padding", "User-agent: *\nDisallow: /\n" + strings.Repeat("\x00", 4096), false, 2},
		{"no colon", "User-agent *\nDisallow /\n", false, 2},
		{"no colon and three words is no rule", "User-agent: *\nDisallow / please\n", true, 0},
		{"key with an ending", "User-agent: *\nDisallows: /\n", false, 2},
		{"misspelt disallow", "User-agent: *\nDisalow: /\n", false, 2},
		{"unknown key", "User-agent: *\nForbid: /\n", true, 0},
		{"fullwidth colon", "User-agent: *\nDisallow\uFF1A/\n", true, 0},
		{"a line of one blank", " \nUser-agent: *\n \nDisallow: /\n", false, 4},
		{"HTML line ends", "User-agent: *<br>\nDisallow: /<br>\n", true, 0},
		{"HTML around rules hides none", "<html><pre>\nUser-agent: *\nDisallow: /\n</pre></html>\n", false, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := read(tt.robots).Allows(card)
			if d.Allowed != tt.allowed || d.Line != tt.line {
				t.Errorf("got %+v, want allowed %v by line %d", d, tt.allowed, tt.line)
			}
		})
	}
}

// TestPatterns: what a rule matches (sections 2.2.2 and 2.2.3). Each pattern is the only rule, a disallow.
func TestPatterns(t *testing.T) {
	tests := []struct {
		name, pattern, path string
		match               bool
	}{
		{"everything", "/", card, true},
		{"nothing", "", card, false},
		{"prefix", "/.well", card, true},
		{"longer than the path", "/a/b", "/a", false},
		{"case of the path counts", "/.Well-Known/", card, false},
		{"query is part of the path", "/a?b=1", "/a?b=12", true},
		{"query asked for and not there", "/a?b", "/a", false},
		{"without slash", ".well-known/", card, false},
		{"whole URL", "https://site.example/", "/", false},
		{"star alone", "*", card, true},
		{"star in front", "*agent-card", card, true},
		{"star in front, as in */body/", "*/body/", "/x/body/y", true},
		{"star in the middle", "/*/agent*.json", card, true},
		{"star at the end", "/.well-known/*", card, true},
		{"star matches nothing too", "/.well*-known/", card, true},
		{"star does not bring back what is past", "/*card/*agent", card, false},
		{"many stars", "/a*****b", "/axxb", true},
		{"end", "/a$", "/a", true},
		{"end not reached", "/a$", "/ab", false},
		{"end with query", "/a$", "/a?b", false},
		{"star and end", "/*.json$", card, true},
		{"star and end not reached", "/*.json$", card + "?x", false},
		{"dollar within stands for itself", "/a$b", "/a$b", true},
		{"dollar within and end", "/a$$", "/a$", true},
		{"dollar within and end not reached", "/a$$", "/a", false},
		{"only an end", "$", "/", false},
		{"index.html is not its directory", "/x/index.html", "/x/", false},

		{"lower-case hex in the pattern", "/%e3%83%84", "/%E3%83%84", true},
		{"lower-case hex in the path", "/%E3%83%84", "/%e3%83%84", true},
		{"plain UTF-8 in the pattern", "/ツ", "/%e3%83%84", true},
		{"plain UTF-8 in the path", "/%E3%83%84", "/ツ", true},
		{"plain UTF-8 beside hex", "/ü%20%2f", "/%C3%BC%20%2F", true},
		{"octets that are no UTF-8", "/\xFF", "/%ff", true},
		{"encoded unreserved in the pattern", "/%2Ewell%2dknown/%61", card, true},
		{"encoded unreserved in the path", "/.well-known/~", "/%2ewell%2Dknown/%7E", true},
		{"encoded slash is not a slash", "/a%2Fb", "/a/b", false},
		{"encoded slash in either case", "/a%2fb", "/a%2Fb", true},
		{"encoded question mark is no query", "/a?b", "/a%3Fb", false},
		{"unsafe characters in the path", "/a%3Cb%7C", "/a<b|", true},
		{"unsafe characters in the pattern", `/a"{ }^\`, "/a%22%7B%20%7D%5E%5C", true},
		{"percent that escapes nothing", "/a%zz", "/a%zz1", true},
		{"percent before a star", "/a%*", "/a%20b", true},
		{"percent at the end", "/100%", "/100%", true},
		{"encoded star stands for itself", "/a%2ab", "/a*b", true},
		{"encoded star is no wildcard", "/a%2Ab", "/axb", false},
		{"encoded dollar stands for itself", "/a%24", "/a$b", true},
		{"encoded dollar is no end", "/a%24", "/a", false},
		{"star in the path under a wildcard", "/a*b", "/a*b", true},
		{"URL in a query, encoded or not", "/a?u=https://x.example", "/a?u=https%3A%2F%2Fx.example", true},
		{"URL in a query the other way", "/a?u=https%3A%2F%2Fx.example", "/a?u=https://x.example", true},
		{"plain query under a wildcard", "/*//x.example", "/a?u=https://x.example", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := read(star("Disallow: " + tt.pattern)).Allows(tt.path)
			if d.Allowed == tt.match {
				t.Errorf("pattern %q and path %q: got %+v, want match %v", tt.pattern, tt.path, d, tt.match)
			}
		})
	}
}

// TestDecisions: which rule decides, and what is said about it (section 2.2.2).
func TestDecisions(t *testing.T) {
	tests := []struct {
		name, robots, path string
		want               robots.Decision
	}{
		{"longest wins, disallow", star("Allow: /", "Disallow: /.well-known/ # no cards"), card,
			robots.Decision{By: robots.ByRule, Group: "*", Line: 3, Text: "Disallow: /.well-known/"}},
		{"longest wins, allow, whatever the order", star("Allow: /.well-known/agent", "Disallow: /.well-known/"), card,
			robots.Decision{Allowed: true, By: robots.ByRule, Group: "*", Line: 2, Text: "Allow: /.well-known/agent"}},
		{"allow wins a tie", star("Disallow: /", "Allow: /"), card,
			robots.Decision{Allowed: true, By: robots.ByTie, Group: "*", Line: 3, Text: "Allow: /"}},
		{"a tie after normalisation", star("Disallow: /%61", "Allow: /a"), "/a",
			robots.Decision{Allowed: true, By: robots.ByTie, Group: "*", Line: 3, Text: "Allow: /a"}},
		{"stars and the end count", star("Allow: /a", "Disallow: /a*$"), "/a",
			robots.Decision{By: robots.ByRule, Group: "*", Line: 3, Text: "Disallow: /a*$"}},
		{"joined stars count as written", star("Allow: /a*", "Disallow: /a**"), "/a",
			robots.Decision{By: robots.ByRule, Group: "*", Line: 3, Text: "Disallow: /a**"}},
		{"a longer rule that does not match", star("Disallow: /", "Allow: /elsewhere/and/far/away"), card,
			robots.Decision{By: robots.ByRule, Group: "*", Line: 2, Text: "Disallow: /"}},
		{"the first of equal rules", star("Disallow: /a", "Disallow: /a"), "/a",
			robots.Decision{By: robots.ByRule, Group: "*", Line: 2, Text: "Disallow: /a"}},
		{"no rule matches", star("Disallow: /a"), card,
			robots.Decision{Allowed: true, By: robots.ByAbsence, Group: "*"}},
		{"no rule of the own group matches", "User-agent: ExampleBot\nDisallow: /a\n", card,
			robots.Decision{Allowed: true, By: robots.ByAbsence, Group: bot, Named: true}},
		{"named group", "User-agent: ExampleBot\nDisallow: /\n", card,
			robots.Decision{By: robots.ByRule, Group: bot, Named: true, Line: 2, Text: "Disallow: /"}},
		{"robots.txt itself", star("Disallow: /"), "/robots.txt",
			robots.Decision{Allowed: true, By: robots.ByImplicit, Group: "*"}},
		{"robots.txt itself, encoded", star("Disallow: /"), "/%72obots.txt",
			robots.Decision{Allowed: true, By: robots.ByImplicit, Group: "*"}},
		{"what only begins like it", star("Disallow: /"), "/robots.txt.bak",
			robots.Decision{By: robots.ByRule, Group: "*", Line: 2, Text: "Disallow: /"}},
		{"the empty path is the root", star("Disallow: /$"), "",
			robots.Decision{By: robots.ByRule, Group: "*", Line: 2, Text: "Disallow: /$"}},
		{"query without path", star("Disallow: /?"), "?a",
			robots.Decision{By: robots.ByRule, Group: "*", Line: 2, Text: "Disallow: /?"}},
		{"longest path", star("Disallow: /b"), "/" + strings.Repeat("a", robots.MaxPath-1),
			robots.Decision{Allowed: true, By: robots.ByAbsence, Group: "*"}},
		{"too long a path", star("Disallow: /b"), "/" + strings.Repeat("a", robots.MaxPath),
			robots.Decision{By: robots.ByPathTooLong}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := read(tt.robots).Allows(tt.path); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestPathOf(t *testing.T) {
	tests := map[string]string{
		"https://site.example/a/b?c=d#e": "/a/b?c=d",
		"https://site.example":           "/",
		"https://site.example?x":         "/?x",
		"https://site.example#/x":        "/",
		"//site.example/a":               "/a",
		"/a/b":                           "/a/b",
		"/a?u=https://x.example/":        "/a?u=https://x.example/",
		"a/b":                            "/a/b",
		"":                               "/",
		"https://site.example/%zz":       "/%zz",
	}
	for in, want := range tests {
		if got := robots.PathOf(in); got != want {
			t.Errorf("PathOf(%q) = %q, want %q", in, got, want)
		}
	}
}
