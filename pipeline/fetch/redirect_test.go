package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"agentcensus/pipeline/fetch"

	"github.com/google/go-cmp/cmp"
)

func hopStrings(a fetch.Answer) []string {
	var s []string
	for _, h := range a.Hops {
		text := fmt.Sprintf("%d %v", h.Status, h.URL)
		if h.Known {
			text += " known"
		}
		s = append(s, text)
	}
	return s
}

func TestRedirectIsFollowedInsideTheSite(t *testing.T) {
	w := newWorld(t, patient, nil)
	apex := w.serve(pages(map[string]string{"/c": to("https://www.site.test/c")}), "site.test")
	www := w.serve(pages(map[string]string{"/c": to("d"), "/d": ok("x")}), "www.site.test")
	a := get(t, w.visit(), "site.test/c")
	wantBody(t, a, 200, "x")
	if d := cmp.Diff([]string{"302 https://site.test/c", "302 https://www.site.test/c", "200 https://www.site.test/d"}, hopStrings(a)); d != "" {
		t.Error(d)
	}
	if a.Requests != 3 || a.URL.String() != "https://www.site.test/d" {
		t.Errorf("%d requests, final %v", a.Requests, a.URL)
	}
	if d := cmp.Diff([]string{"GET site.test /c", "GET www.site.test /c", "GET www.site.test /d"}, w.signed); d != "" {
		t.Errorf("each hop signs for itself: %s", d)
	}
	n1, _ := apex.log()
	n2, _ := www.log()
	if n1 != 1 || n2 != 1 {
		t.Errorf("%d and %d connections, want one an origin", n1, n2)
	}
}

func TestRedirectStatuses(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		w := newWorld(t, patient, nil)
		w.serve(pages(map[string]string{
			"/a": fmt.Sprintf("HTTP/1.1 %d Moved\r\nLocation: /b\r\nContent-Length: 3\r\n\r\n%s", status, "old"),
			"/b": ok("new"),
		}), "site.test")
		a := get(t, w.visit(), "site.test/a")
		wantBody(t, a, 200, "new")
		if a.BodyBytes != 6 {
			t.Errorf("%d: %d body bytes, want those of both", status, a.BodyBytes)
		}
	}
}

func TestLocation(t *testing.T) {
	const base = "https://site.test/dir/card?old=1"
	for _, c := range []struct{ name, location, want, reason string }{
		{name: "path", location: "/x", want: "https://site.test/x"},
		{name: "relative", location: "x", want: "https://site.test/dir/x"},
		{name: "relative up", location: "../../../x", want: "https://site.test/x"},
		{name: "query only", location: "?new=2", want: "https://site.test/dir/card?new=2"},
		{name: "empty query", location: "/x?", want: "https://site.test/x?"},
		{name: "scheme-relative", location: "//www.site.test/x", want: "https://www.site.test/x"},
		{name: "no path", location: "https://www.site.test", want: "https://www.site.test/"},
		{name: "no path but a query", location: "https://www.site.test?q", want: "https://www.site.test/?q"},
		{name: "upper case", location: "HTTPS://WWW.SITE.TEST/X", want: "https://www.site.test/X"},
		{name: "trailing dot", location: "https://www.site.test./x", want: "https://www.site.test/x"},
		{name: "full-width letters", location: "https://ｓｉｔｅ.test/x", want: "https://site.test/x"},
		{name: "port 443", location: "https://site.test:443/x", want: "https://site.test/x"},
		{name: "empty port", location: "https://site.test:/x", want: "https://site.test/x"},
		{name: "fragment", location: "/x#part?no", want: "https://site.test/x"},
		{name: "dot segments", location: "/a/../b/./c", want: "https://site.test/b/c"},
		{name: "escaped dot segments", location: "/a/%2e%2E/b/%2e", want: "https://site.test/b/"},
		{name: "two slashes kept", location: "/a//b", want: "https://site.test/a//b"},
		{name: "escapes that are needed, in upper case", location: "/a%2fb%C3%a4?%3f%26", want: "https://site.test/a%2Fb%C3%A4?%3F%26"},
		{name: "escapes that are not needed", location: "/%72obots%2Etxt%7e?%61", want: "https://site.test/robots.txt~?a"},
		{name: "a sign where hex is wanted", location: "/%+1%-1", want: "https://site.test/%25+1%25-1"},
		{name: "space", location: "/a b", want: "https://site.test/a%20b"},
		{name: "escape and space", location: "/a%2fb c", want: "https://site.test/a%2Fb%20c"},
		{name: "raw UTF-8", location: "/ä?ö", want: "https://site.test/%C3%A4?%C3%B6"},
		{name: "raw Latin-1", location: "/\xe4", want: "https://site.test/%E4"},
		{name: "half an escape", location: "/100%?%zz", want: "https://site.test/100%25?%25zz"},
		{name: "backslash is a byte of the path", location: `/\evil.test`, want: "https://site.test/%5Cevil.test"},
		{name: "braces and quotes", location: `/{"a"}`, want: "https://site.test/%7B%22a%22%7D"},
		{name: "at sign in path", location: "/@x", want: "https://site.test/@x"},
		{name: "colon in path", location: "/a:b", want: "https://site.test/a:b"},

		{name: "no field", location: "-", reason: "no_location"},
		{name: "empty", location: "", reason: "no_location"},
		{name: "other site", location: "https://other.test/", reason: "off_site"},
		{name: "other site over http", location: "http://other.test/", reason: "off_site"},
		{name: "subdomain", location: "https://sub.site.test/", reason: "off_site"},
		{name: "two www", location: "https://www.www.site.test/", reason: "off_site"},
		{name: "suffix trick", location: "https://site.test.evil.test/", reason: "off_site"},
		{name: "user-info trick", location: "https://site.test@evil.test/", reason: "off_site"},
		{name: "parent domain", location: "https://test/", reason: "off_site"},
		{name: "IDN", location: "https://sité.test/", reason: "off_site"},
		{name: "IPv4", location: "https://127.0.0.1/", reason: "off_site"},
		{name: "IPv4 as a number", location: "https://2130706433/", reason: "off_site"},
		{name: "IPv6", location: "https://[::1]:443/", reason: "off_site"},
		{name: "http", location: "http://site.test/", reason: "not_https"},
		{name: "ftp", location: "ftp://site.test/", reason: "not_https"},
		{name: "javascript", location: "javascript:alert(1)", reason: "not_https"},
		{name: "data", location: "data:text/html,x", reason: "not_https"},
		{name: "port", location: "https://site.test:8443/", reason: "port"},
		{name: "port zero", location: "https://site.test:0/", reason: "port"},
		{name: "user", location: "https://me@site.test/", reason: "user_info"},
		{name: "user and password", location: "https://me:pw@site.test/", reason: "user_info"},
		{name: "scheme alone", location: "https:/x", reason: "bad_location"},
		{name: "no host", location: "https:///x", reason: "bad_location"},
		{name: "port no number", location: "https://site.test:x/", reason: "bad_location"},
		{name: "port too large", location: "https://site.test:65979/", reason: "bad_location"},
		{name: "escape in host", location: "https://%73ite.test/", reason: "bad_location"},
		{name: "space in host", location: "https://si te.test/", reason: "bad_location"},
		{name: "backslash in host", location: `https://site.test\@evil.test/`, reason: "off_site"},
		{name: "backslash after host", location: `https://site.test\x/`, reason: "bad_location"},
		{name: "half a bracket", location: "https://[::1/", reason: "bad_location"},
		{name: "tab", location: "/a\tb", reason: "bad_location"},
		{name: "two that differ", location: "/a\r\nLocation: /b", reason: "bad_location"},
		{name: "two that agree", location: "/a\r\nLocation: /a", want: "https://site.test/a"},
		{name: "2 KiB", location: "/" + strings.Repeat("a", 2047), want: "https://site.test/" + strings.Repeat("a", 2047)},
		{name: "8 KiB", location: "/" + strings.Repeat("a", 8191), reason: "location_too_long"},
		{name: "itself", location: "card?old=1", reason: "loop"},
		{name: "itself with fragment", location: "#top", reason: "loop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, err := url.Parse(base)
			if err != nil {
				t.Fatal(err)
			}
			h := http.Header{}
			for i, v := range strings.Split(c.location, "\r\nLocation: ") {
				if v != "-" || i > 0 {
					h.Add("Location", v)
				}
			}
			got, ferr := fetch.Target(u, h)
			switch {
			case c.reason == "loop":
				if ferr != nil || got.String() != base {
					t.Errorf("%v, %v; want the URL itself", got, ferr)
				}
			case c.reason != "":
				if ferr == nil || ferr.Kind != fetch.RedirectRefused || ferr.Reason != c.reason {
					t.Errorf("%v, %v; want %s", got, ferr, c.reason)
				}
			case ferr != nil || got.String() != c.want:
				t.Errorf("%v, %v; want %s", got, ferr, c.want)
			case got.RequestURI() != strings.TrimPrefix(c.want, "https://"+got.Host):
				t.Errorf("request line has %s", got.RequestURI())
			}
		})
	}
}

func TestRefusedRedirectKeepsItsAnswer(t *testing.T) {
	w := newWorld(t, patient, nil)
	w.serve(pages(map[string]string{"/": to("https://other.test/")}), "site.test")
	a := get(t, w.visit(), "site.test/")
	wantError(t, a, fetch.RedirectRefused, "off_site")
	if a.Status != 302 || a.Header.Get("Location") != "https://other.test/" || a.Requests != 1 {
		t.Errorf("status %d, header %v, %d requests", a.Status, a.Header, a.Requests)
	}
}

func TestAtMostThreeRedirects(t *testing.T) {
	maze := func(p *peer) {
		for {
			r, more := p.next()
			if !more || !p.say(to(r.URL.Path+"x")) {
				return
			}
		}
	}
	w := newWorld(t, patient, nil)
	s := w.serve(maze, "site.test")
	wantError(t, get(t, w.visit(), "site.test/"), fetch.RedirectRefused, "too_many")
	if _, requests := s.log(); len(requests) != 1+fetch.MaxRedirects {
		t.Errorf("requests %v", requests)
	}
	s3 := w.serve(pages(map[string]string{"/": to("/1"), "/1": to("/2"), "/2": to("/3"), "/3": ok("x")}), "three.test")
	wantBody(t, get(t, w.visit(), "three.test/"), 200, "x")
	if _, requests := s3.log(); len(requests) != 4 {
		t.Errorf("requests %v", requests)
	}
}

func TestLoopEndsWithoutASecondRequest(t *testing.T) {
	w := newWorld(t, patient, nil)
	s := w.serve(pages(map[string]string{"/a": to("/b"), "/b": to("/a")}), "site.test")
	wantError(t, get(t, w.visit(), "site.test/a"), fetch.RedirectRefused, "loop")
	if _, requests := s.log(); !slices.Equal(requests, []string{"site.test /a", "site.test /b"}) {
		t.Errorf("requests %v", requests)
	}
}

func TestKnownAnswersAreUsedAgain(t *testing.T) {
	w := newWorld(t, patient, nil)
	s := w.serve(pages(map[string]string{"/a": to("/"), "/b": to("/"), "/": ok("home"), "/c": to("/b")}), "site.test")
	v := w.visit()
	wantBody(t, get(t, v, "site.test/a"), 200, "home")
	b := get(t, v, "site.test/b")
	wantBody(t, b, 200, "home")
	if d := cmp.Diff([]string{"302 https://site.test/b", "200 https://site.test/ known"}, hopStrings(b)); d != "" || b.Requests != 1 {
		t.Errorf("%d requests %s", b.Requests, d)
	}
	again := get(t, v, "site.test/a")
	wantBody(t, again, 200, "home")
	if again.Requests != 0 || again.Elapsed != 0 || again.BodyBytes != 0 {
		t.Errorf("a known fetch counts %d requests, %v, %d bytes", again.Requests, again.Elapsed, again.BodyBytes)
	}
	u := &url.URL{Scheme: "https", Host: "site.test", Path: "/"}
	cut := v.Fetch(t.Context(), fetch.Request{URL: u, MaxBody: 2})
	if string(cut.Body) != "ho" || !cut.Cut {
		t.Errorf("body %q, cut %v; want it limited again", cut.Body, cut.Cut)
	}
	if k, known := v.Known(u); !known || string(k.Body) != "home" || k.Status != 200 {
		t.Errorf("Known: %v %q", known, k.Body)
	}
	if k, known := v.Known(&url.URL{Scheme: "https", Host: "site.test", Path: "/a"}); !known || k.Status != 302 {
		t.Errorf("Known of a redirect: %v %d", known, k.Status)
	}
	if _, known := v.Known(&url.URL{Scheme: "https", Host: "site.test", Path: "/never"}); known {
		t.Error("a URL never asked is known")
	}
	if _, requests := s.log(); !slices.Equal(requests, []string{"site.test /a", "site.test /", "site.test /b"}) {
		t.Errorf("requests %v", requests)
	}
}

func TestFailedURLIsNotAskedAgain(t *testing.T) {
	w := newWorld(t, patient, nil)
	s := w.serve(func(p *peer) {
		if r, more := p.next(); more && r.URL.Path == "/b" {
			p.say(to("/a"))
		}
	}, "site.test")
	v := w.visit()
	wantError(t, get(t, v, "site.test/a"), fetch.ConnectionLost, "eof")
	wantError(t, get(t, v, "site.test/a"), fetch.ConnectionLost, "eof")
	wantError(t, get(t, v, "site.test/b"), fetch.ConnectionLost, "eof")
	if _, requests := s.log(); !slices.Equal(requests, []string{"site.test /a", "site.test /b"}) {
		t.Errorf("requests %v", requests)
	}
}

func TestPermitIsAskedBeforeEveryRequest(t *testing.T) {
	opted := &fetch.Error{Kind: fetch.RedirectRefused, Reason: "opted_out"}
	for _, c := range []struct {
		name     string
		refuse   int
		with     error
		kind     fetch.Kind
		reason   string
		status   int
		requests int
	}{
		{"first, own error", 0, opted, fetch.RedirectRefused, "opted_out", 0, 0},
		{"first, any error", 0, errors.New("no"), fetch.Refused, "", 0, 0},
		{"redirect", 1, fmt.Errorf("because: %w", opted), fetch.RedirectRefused, "opted_out", 302, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, patient, nil)
			var looked []string
			w.dns = func(host string) ([]netip.Addr, error) {
				looked = append(looked, host)
				return []netip.Addr{publicAddr}, nil
			}
			s := w.serve(pages(map[string]string{"/": to("https://www.site.test/")}), "site.test", "www.site.test")
			var asked []string
			a := w.visit().Fetch(t.Context(), fetch.Request{
				URL: &url.URL{Scheme: "https", Host: "site.test", Path: "/"}, MaxBody: 9,
				Permit: func(_ context.Context, u *url.URL, hop int) error {
					asked = append(asked, fmt.Sprint(hop, " ", u))
					if hop == c.refuse {
						return c.with
					}
					return nil
				},
			})
			wantError(t, a, c.kind, c.reason)
			if _, requests := s.log(); a.Status != c.status || len(requests) != c.requests || len(looked) != c.requests {
				t.Errorf("status %d, requests %v, look-ups %v; want %d of each", a.Status, requests, looked, c.requests)
			}
			if want := []string{"0 https://site.test/", "1 https://www.site.test/"}[:c.refuse+1]; !slices.Equal(asked, want) {
				t.Errorf("asked %v, want %v", asked, want)
			}
		})
	}
}

func TestURLsThatAreNotFetched(t *testing.T) {
	w := newWorld(t, patient, nil)
	for address, reason := range map[string]string{
		"http://site.test/":       "not_https",
		"https://site.test:8443/": "port",
		"https://me@site.test/":   "user_info",
		"https://127.0.0.1/":      "off_site",
		"https://[::1]/":          "bad_location",
		"https:site.test":         "bad_location",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, w.visit().Fetch(t.Context(), fetch.Request{URL: u}), fetch.Refused, reason)
	}
	wantError(t, w.visit().Fetch(t.Context(), fetch.Request{}), fetch.Refused, "bad_location")
}

func TestSameSite(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"site.test", "site.test", true},
		{"site.test", "www.site.test", true},
		{"www.site.test", "site.test", true},
		{"www.site.test", "www.www.site.test", false},
		{"a.site.test", "site.test", false},
		{"www.test", "test", false},
		{"www.test", "www.www.test", true},
		{"wwwsite.test", "site.test", false},
	} {
		if got := fetch.SameSite(c.a, c.b); got != c.want {
			t.Errorf("SameSite(%s, %s) = %v", c.a, c.b, got)
		}
	}
}
