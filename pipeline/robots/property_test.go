package robots_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"agentcensus/pipeline/robots"
)

// oracle answers for rules over plain characters by the letter of RFC 9309 section 2.2.2, with regular expressions.
func oracle(rules []plainRule, path string) (allowed bool) {
	longest, allowed := -1, true
	for _, r := range rules {
		switch {
		case r.pattern == "" || !plainMatch(r.pattern, path) || len(r.pattern) < longest:
		case len(r.pattern) > longest:
			longest, allowed = len(r.pattern), r.allow
		default:
			allowed = allowed || r.allow
		}
	}
	return allowed
}

type plainRule struct {
	allow   bool
	pattern string
}

func (r plainRule) String() string {
	if r.allow {
		return "Allow: " + r.pattern
	}
	return "Disallow: " + r.pattern
}

func plainMatch(pattern, path string) bool {
	body, anchored := strings.CutSuffix(pattern, "$")
	expr := "^" + strings.ReplaceAll(regexp.QuoteMeta(body), `\*`, ".*")
	if anchored {
		expr += "$"
	}
	return regexp.MustCompile(expr).MatchString(path)
}

// TestLongestMatch: any rules over a small alphabet decide as the oracle says, in any order.
func TestLongestMatch(t *testing.T) {
	pattern := rapid.StringMatching(`(/|\*)?[ab/*]{0,6}\$?`)
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) plainRule {
			return plainRule{rapid.Bool().Draw(t, "allow"), pattern.Draw(t, "pattern")}
		}), 1, 6).Draw(t, "rules")
		path := "/" + rapid.StringMatching(`[ab/]{0,8}`).Draw(t, "path")
		want := oracle(rules, path)
		for range 2 {
			lines := make([]string, len(rules))
			for i, r := range rules {
				lines[i] = r.String()
			}
			if d := read(star(lines...)).Allows(path); d.Allowed != want {
				t.Fatalf("%s\n%s: got %+v, want allowed %v", star(lines...), path, d, want)
			}
			slices.Reverse(rules)
		}
	})
}

// TestEncodingChangesNothing: how the unreserved octets of a path or a pattern are written is all one.
func TestEncodingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`/[a-c.~/?ü ]{0,6}`).Draw(t, "pattern")
		path := rapid.StringMatching(`/[a-c.~/?ü ]{0,8}`).Draw(t, "path")
		want := read(star("Disallow: " + strings.TrimSpace(pattern) + "x*")).Allows(path + "xx")
		encode := func(s, name string) string {
			var out strings.Builder
			for _, c := range []byte(s) {
				form := "%c"
				if strings.IndexByte("abc.~", c) >= 0 || c >= 0x80 || c == ' ' {
					form = rapid.SampledFrom([]string{"%c", "%%%02x", "%%%02X"}).Draw(t, name)
				}
				if form == "%c" {
					out.WriteByte(c)
				} else {
					fmt.Fprintf(&out, form, c)
				}
			}
			return out.String()
		}
		got := read(star("Disallow: " + encode(strings.TrimSpace(pattern), "pattern form") + "x*")).Allows(encode(path, "path form") + "xx")
		if got.Allowed != want.Allowed {
			t.Fatalf("got %+v, plain %+v", got, want)
		}
	})
}

// TestLineEndsChangeNothing: LF, CR and CR LF give the same decisions and the same line numbers.
func TestLineEndsChangeNothing(t *testing.T) {
	line := rapid.SampledFrom([]string{"", "# x", "User-agent: *", "User-agent: ExampleBot", "User-agent: x", "Disallow: /", "Disallow:", "Allow: /.well", "Crawl-delay: 1"})
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(line).Draw(t, "lines")
		want := read(strings.Join(lines, "\n")).Allows(card)
		for _, end := range []string{"\r", "\r\n"} {
			if got := read(strings.Join(lines, end)).Allows(card); got != want {
				t.Fatalf("%q: got %+v with %q, %+v with LF", lines, got, end, want)
			}
		}
	})
}

// TestConcurrentUse: one policy answers many at once, and the same.
func TestConcurrentUse(t *testing.T) {
	p := read(star("Disallow: /*/x$", "Allow: /a", "Disallow: /%61b"))
	paths := []string{"/a", "/ab", "/b/x", "/b", card, "/robots.txt"}
	want := make([]robots.Decision, len(paths))
	for i, path := range paths {
		want[i] = p.Allows(path)
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for i, path := range paths {
				if got := p.Allows(path); got != want[i] {
					t.Errorf("%s: got %+v, want %+v", path, got, want[i])
				}
			}
		})
	}
	wg.Wait()
}

// FuzzRead: whatever comes, there is a policy that is sure of itself.
func FuzzRead(f *testing.F) {
	f.Add(200, "text/plain", []byte(star("Disallow: /a", "Allow: /*.json$")), false)
	f.Add(200, "text/html", []byte("<html><title>x</title>\nUser-agent: *\nDisallow: /"), true)
	f.Add(200, "", []byte("\xFF\xFEU\x00s\x00"), false)
	f.Add(200, "", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00"), true)
	f.Add(200, "", []byte("Allow\nDisallow \nuser-agent *\r\r\n:\n: /\nAllow: *\n\x00"), false)
	f.Add(200, "", []byte("User-agent: *\nDisallow: /%e3%8\nDisallow: /%\nDisallow: /$*$"), false)
	f.Add(503, "text/html", []byte("<title>Just a moment...</title>"), false)
	f.Add(-1, "", []byte("\xEF\xBB\xBF\xEF\xBB"), false)
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte, cut bool) {
		r := robots.Response{Status: status, Header: http.Header{"Content-Type": {kind}}, Body: body, Cut: cut}
		before := slices.Clone(body)
		loose := robots.Read(r, []string{bot}, robots.RFC9309)
		strict := robots.Read(r, []string{bot}, robots.Strict)
		if string(before) != string(body) {
			t.Fatal("the body was written to")
		}
		for _, p := range []*robots.Policy{loose, strict} {
			if p.Reason() == "" {
				t.Error("no reason")
			}
			for _, path := range []string{card, "/", "/robots.txt", "/%e3%83%84?a=b:c"} {
				d := p.Allows(path)
				if p.State() != robots.Open && d.Allowed {
					t.Errorf("closed and allowed: %+v", d)
				}
				if byRule := d.By == robots.ByRule || d.By == robots.ByTie; byRule != (d.Line > 0) || byRule != (d.Text != "") {
					t.Errorf("%s: a rule decided or not: %+v", path, d)
				}
				if again := p.Allows(path); again != d {
					t.Errorf("%s: %+v, then %+v", path, d, again)
				}
			}
		}
		if d := strict.Allows(card); d.Allowed && !loose.Allows(card).Allowed {
			t.Errorf("strict allows what rfc9309 does not: %+v", d)
		}
	})
}

// FuzzMatch: plain patterns match as regular expressions do, and percent-encoding a path changes nothing.
func FuzzMatch(f *testing.F) {
	f.Add("/a*b$", "/axxb")
	f.Add("/*?*?", "/?a?b")
	f.Add("/%61%2a$", "/a*")
	f.Add("*l*l*l*l*l", "/llllll")
	f.Add("/a$$", "/a$")
	f.Add("/%e3%83%84", "/ツ")
	plainPattern := regexp.MustCompile(`^[a-z/.*-]+\$?$`)
	plainPath := regexp.MustCompile(`^/[a-z/.-]*$`)
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if len(pattern) > 1000 || len(path) > 300 {
			return
		}
		p := read(star("Disallow: " + pattern))
		d := p.Allows(path)
		if !plainPath.MatchString(path) || path == "/robots.txt" {
			return
		}
		if plainPattern.MatchString(pattern) && d.Allowed == plainMatch(pattern, path) {
			t.Errorf("pattern %q, path %q: got %+v", pattern, path, d)
		}
		encoded := "/"
		for _, c := range []byte(path[1:]) {
			if c == '/' {
				encoded += "/"
			} else {
				encoded += fmt.Sprintf("%%%02x", c)
			}
		}
		if e := p.Allows(encoded); e.Allowed != d.Allowed {
			t.Errorf("pattern %q: %q gives %+v, %q gives %+v", pattern, path, d, encoded, e)
		}
	})
}
