package robots_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"

	"agentcensus/pipeline/robots"
)

// TestResponses: what each class of answer means under both policies.
func TestResponses(t *testing.T) {
	const (
		open, unreachable, unreadable = robots.Open, robots.Unreachable, robots.Unreadable

		page  = "<!DOCTYPE html><html><head><title>Shop</title></head><body>Hello</body></html>"
		wall  = "<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>"
		rules = "User-agent: *\nDisallow: /private\n"
	)
	type verdict struct {
		state  robots.State
		reason string
	}
	both := func(s robots.State, reason string) [2]verdict { return [2]verdict{{s, reason}, {s, reason}} }
	tests := []struct {
		name   string
		status int
		header http.Header
		body   string
		want   [2]verdict // rfc9309, strict
	}{
		{"rules", 200, nil, rules, both(open, "rules")},
		{"rules declared as HTML", 200, http.Header{"Content-Type": {"text/html"}}, rules, both(open, "rules")},
		{"rules with another 2xx", 203, nil, rules, both(open, "rules")},
		{"only a sitemap", 200, nil, "Sitemap: https://site.example/map\n", both(open, "rules")},
		{"only a crawl delay", 200, nil, "Crawl-Delay: 4\n", both(open, "rules")},
		{"empty", 200, nil, "", both(open, "empty")},
		{"no content", 204, nil, "", both(open, "empty")},
		{"blanks and comments", 200, nil, "\uFEFF \r\n# nothing here\n\x00", both(open, "empty")},
		{"HTML", 200, nil, page, [2]verdict{{open, "html"}, {unreadable, "html"}}},
		{"HTML with another 2xx", 202, nil, page, [2]verdict{{open, "html"}, {unreadable, "html"}}},
		{"HTML with script lines like keys", 200, nil, "<html><script>\nuserAgent: navigator.userAgent,\nallow: true,\n</script>",
			[2]verdict{{open, "html"}, {unreadable, "html"}}},
		{"HTML around rules", 200, nil, "<html>\n" + rules, [2]verdict{{open, "rules"}, {unreadable, "html"}}},
		{"JSON", 200, nil, `{"error":"no such thing"}`, [2]verdict{{open, "no_line"}, {unreadable, "no_line"}}},
		{"words", 200, nil, "404 page not found", [2]verdict{{open, "no_line"}, {unreadable, "no_line"}}},
		{"a picture", 200, nil, "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", [2]verdict{{open, "no_line"}, {unreadable, "no_line"}}},
		{"broken gzip", 200, nil, "\x1f\x8b and no more", both(unreadable, "bad_gzip")},
		{"redirect not followed", 301, nil, rules, both(unreadable, "status_301")},
		{"multiple choices", 300, nil, rules, both(unreadable, "status_300")},
		{"not modified", 304, nil, "", both(unreadable, "status_304")},
		{"bad request", 400, nil, "User-agent: *\nDisallow: /\n", both(open, "status_400")},
		{"unauthorised", 401, nil, "", [2]verdict{{open, "status_401"}, {unreadable, "status_401"}}},
		{"forbidden", 403, nil, page, [2]verdict{{open, "status_403"}, {unreadable, "status_403"}}},
		{"not found", 404, nil, page, both(open, "status_404")},
		{"gone", 410, nil, "\x1f\x8b and no more", both(open, "status_410")},
		{"for legal reasons", 451, nil, "", both(open, "status_451")},
		{"too many requests", 429, nil, "", both(unreachable, "status_429")},
		{"server error", 500, nil, "User-agent: *\nAllow: /\n", both(unreachable, "status_500")},
		{"unavailable", 503, nil, "", both(unreachable, "status_503")},
		{"no status at all", 0, nil, rules, both(unreachable, "status_0")},
		{"a status beyond all", 999, nil, rules, both(unreachable, "status_999")},
		{"challenge with 200", 200, nil, wall, both(unreadable, "challenge_cloudflare")},
		{"challenge with 403", 403, nil, wall, both(unreadable, "challenge_cloudflare")},
		{"challenge with 404", 404, nil, wall, both(unreadable, "challenge_cloudflare")},
		{"challenge with 429", 429, http.Header{"X-Vercel-Mitigated": {"challenge"}}, "", both(unreadable, "challenge_vercel")},
		{"challenge with 503", 503, http.Header{"Cf-Mitigated": {"challenge"}}, "", both(unreadable, "challenge_cloudflare")},
		{"challenge in UTF-16", 200, nil, string(utf16Bytes(wall, binary.LittleEndian, true)), both(unreadable, "challenge_cloudflare")},
		{"a challenge's path in a rule", 200, nil, "User-agent: *\nDisallow: /_Incapsula_Resource?\n", both(open, "rules")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := robots.Response{Status: tt.status, Header: tt.header, Body: []byte(tt.body)}
			for i, mode := range []robots.Mode{robots.RFC9309, robots.Strict} {
				p := robots.Read(r, []string{bot}, mode)
				if got := (verdict{p.State(), p.Reason()}); got != tt.want[i] {
					t.Errorf("%s: got %v, want %v", mode, got, tt.want[i])
				}
				if d := p.Allows(card); d.Allowed != (p.State() == robots.Open) {
					t.Errorf("%s: a policy that is %v answers %+v", mode, p.State(), d)
				}
			}
		})
	}
}

// TestClosed: a closed policy allows nothing, /robots.txt and long paths included.
func TestClosed(t *testing.T) {
	p := robots.Refused("off_site")
	if p.State() != robots.Unreadable || p.Reason() != "off_site" {
		t.Errorf("refused: %v (%s)", p.State(), p.Reason())
	}
	for _, path := range []string{"/", card, "/robots.txt", strings.Repeat("/", robots.MaxPath+1)} {
		if got, want := p.Allows(path), (robots.Decision{By: robots.ByClosed}); got != want {
			t.Errorf("%.20q: got %+v, want %+v", path, got, want)
		}
	}
}

// TestEncodings: rules are found through what lies around them.
func TestEncodings(t *testing.T) {
	const rules = "User-agent: *\r\nDisallow: /.well-known/\r\nDisallow: /ü\r\n"
	tests := map[string][]byte{
		"UTF-8":                  []byte(rules),
		"UTF-16LE":               utf16Bytes(rules, binary.LittleEndian, true),
		"UTF-16BE":               utf16Bytes(rules, binary.BigEndian, true),
		"UTF-16LE without mark":  utf16Bytes(rules, binary.LittleEndian, false),
		"UTF-16BE without mark":  utf16Bytes(rules, binary.BigEndian, false),
		"UTF-16LE, one odd byte": append(utf16Bytes(rules, binary.LittleEndian, true), 'x'),
		"UTF-32LE":               utf32Bytes(rules, binary.LittleEndian),
		"UTF-32BE":               utf32Bytes(rules, binary.BigEndian),
		"gzip":                   zipped(t, []byte(rules)),
		"gzip of UTF-16":         zipped(t, utf16Bytes(rules, binary.LittleEndian, true)),
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			p := read(string(body))
			for path, line := range map[string]int{card: 2, "/%C3%BC": 3, "/else": 0} {
				if d := p.Allows(path); d.Allowed != (line == 0) || d.Line != line {
					t.Errorf("%s: got %+v, want line %d", path, d, line)
				}
			}
		})
	}
}

// TestCut: of a body that was cut the partial last line says nothing, whoever cut it.
func TestCut(t *testing.T) {
	fill := func(head string, size int) string {
		line := "# " + strings.Repeat("x", 97) + "\n"
		body := head + strings.Repeat(line, (size-len(head)-1)/len(line))
		return body + strings.Repeat("#", size-len(body)-1) + "\n"
	}
	tests := []struct {
		name    string
		body    string
		cut     bool
		allowed bool
		reason  string
	}{
		{"whole", star("Disallow: /"), false, false, "rules"},
		{"cut within a disallow", star("Disallow: /.well-known/agent-card.json", "Disallow: /")[:len(star("Disallow: /.well-known/agent-card.json"))+9], true, false, "rules"},
		{"cut to a wider disallow", "User-agent: *\nDisallow: /", true, true, "rules"},
		{"cut to a wider allow", star("Disallow: /.well-known/") + "Allow: /.well-known/", true, false, "rules"},
		{"cut after a line's end", "User-agent: *\nDisallow: /\n", true, false, "rules"},
		{"cut after CR", "User-agent: *\rDisallow: /\r", true, false, "rules"},
		{"cut in the only line", "Disallow: /", true, true, "no_line"},
		{"as long as may be", fill(star("Disallow: /"), robots.MaxBody), false, false, "rules"},
		{"a rule that ends at the limit", fill("", robots.MaxBody-26) + star("Disallow: /") + "Allow: /\n", false, false, "rules"},
		{"a rule cut by the limit", fill("User-agent: *\n", robots.MaxBody-11) + "Disallow: /elsewhere\n", false, true, "rules"},
		{"a rule beyond the limit", fill("User-agent: *\n", robots.MaxBody) + "Disallow: /\n", false, true, "rules"},
		{"zipped, a rule beyond the limit", string(zipped(t, []byte(fill("User-agent: *\n", robots.MaxBody)+"Disallow: /\n"))), false, true, "rules"},
		{"zipped and cut within a rule", string(zipped(t, []byte(star("Disallow: /")))[:zipHead+25]), true, true, "rules"},
		{"zipped and cut after it", string(zipped(t, []byte(star("Disallow: /")))[:zipHead+26]), true, false, "rules"},
		{"zipped and cut in the header", string(zipped(t, []byte(star("Disallow: /")))[:4]), true, true, "empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := robots.Read(robots.Response{Status: 200, Body: []byte(tt.body), Cut: tt.cut}, []string{bot}, robots.RFC9309)
			if d := p.Allows(card); d.Allowed != tt.allowed || p.Reason() != tt.reason {
				t.Errorf("got %+v (%s), want allowed %v (%s)", d, p.Reason(), tt.allowed, tt.reason)
			}
		})
	}
}

// TestPageInOneLine: a page stays one when it is longer than what is read of it, though no line of it is whole.
func TestPageInOneLine(t *testing.T) {
	page := []byte("<!doctype html><title>Lamps</title><script>" + strings.Repeat("x", robots.MaxBody) + "</script>")
	for mode, want := range map[robots.Mode]robots.State{robots.RFC9309: robots.Open, robots.Strict: robots.Unreadable} {
		p := robots.Read(robots.Response{Status: 200, Body: page[:robots.MaxBody], Cut: true}, []string{bot}, mode)
		if p.State() != want || p.Reason() != "html" {
			t.Errorf("%s: %v (%s), want %v (html)", mode, p.State(), p.Reason(), want)
		}
	}
	blocked := []byte("<html><title>Just a moment...</title>" + strings.Repeat("x", robots.MaxBody))
	if p := robots.Read(robots.Response{Status: 200, Body: blocked, Cut: true}, []string{bot}, robots.RFC9309); p.Reason() != "challenge_cloudflare" {
		t.Errorf("a challenge: %v (%s)", p.State(), p.Reason())
	}
}

// TestLongLine: a line is read whole, however long; its beginning alone would be another rule.
func TestLongLine(t *testing.T) {
	long := "/.well-known/" + strings.Repeat("a", 20_000)
	p := read(star("Disallow: " + long + "b"))
	if d := p.Decide(long + "c"); !d.Allowed {
		t.Errorf("decided by the beginning of a line: %v, line %d", d.By, d.Line)
	}
	if d := p.Decide(long + "bc"); d.Allowed {
		t.Error("a long line is not obeyed")
	}
	if d := read(star("Disallow: /" + strings.Repeat("*", 20_000))).Allows(card); d.Allowed {
		t.Error("a long line of stars is not obeyed")
	}
	if d := read(star(strings.Repeat(" ", 20_000) + "Disallow: /")).Allows(card); d.Allowed {
		t.Error("a line with many blanks in front is not obeyed")
	}
}

func utf16Bytes(s string, order binary.AppendByteOrder, mark bool) []byte {
	var b []byte
	if mark {
		b = order.AppendUint16(b, 0xFEFF)
	}
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return b
}

func utf32Bytes(s string, order binary.AppendByteOrder) []byte {
	b := order.AppendUint32(nil, 0xFEFF)
	for _, r := range s {
		b = order.AppendUint32(b, uint32(r))
	}
	return b
}

// zipHead is how many bytes zipped puts in front of a body: the header and that of a stored block.
const zipHead = 10 + 5

// zipped stores a body as gzip, byte by byte as it is.
func zipped(t *testing.T, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
