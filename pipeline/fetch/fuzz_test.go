package fetch_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"agentcensus/pipeline/fetch"

	"pgregory.net/rapid"
)

// checkTarget checks what must hold for every Location: it is refused with a
// reason, or leads to a URL of the site that a request can be made for and
// that leads to itself.
func checkTarget(t interface {
	Helper()
	Errorf(string, ...any)
}, base *url.URL, location string) {
	t.Helper()
	got, ferr := fetch.Target(base, http.Header{"Location": {location}})
	if ferr != nil {
		if ferr.Kind != fetch.RedirectRefused || ferr.Reason == "" {
			t.Errorf("%q: error %v", location, ferr)
		}
		return
	}
	if got.Scheme != "https" || !fetch.SameSite(got.Host, base.Host) || got.User != nil || got.Fragment != "" {
		t.Errorf("%q leads to %v", location, got)
	}
	line := got.RequestURI()
	if !strings.HasPrefix(line, "/") {
		t.Errorf("%q makes the request line %q", location, line)
	}
	for i := range len(line) {
		if line[i] <= ' ' || line[i] >= 0x7f {
			t.Errorf("%q makes the request line %q", location, line)
		}
	}
	path, _, _ := strings.Cut(line, "?")
	for segment := range strings.SplitSeq(path, "/") {
		if s := strings.ReplaceAll(strings.ToLower(segment), "%2e", "."); s == "." || s == ".." {
			t.Errorf("%q leaves the segment %q in %q", location, segment, path)
		}
	}
	again, err := url.Parse(got.String())
	if err != nil || again.RequestURI() != line || again.Host != got.Host {
		t.Errorf("%q: %v is read as %v, %v", location, got, again, err)
	}
	if len(got.String()) <= 2048 {
		same, ferr := fetch.Target(base, http.Header{"Location": {got.String()}})
		if ferr != nil || same.String() != got.String() {
			t.Errorf("%q leads to %v, which leads to %v, %v", location, got, same, ferr)
		}
	}
}

func FuzzLocation(f *testing.F) {
	for _, s := range []string{
		"/x", "../x", "?q", "", "//www.site.test/x", "https://site.test:443/%zz", `/\evil.test`, "https://me@site.test/",
		"HTTPS://SITE.TEST./a/%2e./b#f", "http://site.test/", "https://[::1]/", "/ä ö", "https://sité.test", "//", "///", "/?a?b", "/a;b=c/..",
	} {
		f.Add(s)
	}
	base, err := url.Parse("https://site.test/dir/card?old=1")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, location string) { checkTarget(t, base, location) })
}

func TestEveryLocationStaysInTheSite(t *testing.T) {
	base, err := url.Parse("https://www.site.test/dir/card")
	if err != nil {
		t.Fatal(err)
	}
	piece := rapid.SampledFrom([]string{
		"https:", "http:", "//", "/", "\\", "..", ".", "%2e", "%", "@", ":", "443", "8443", "?", "#", "[", "]",
		"site.test", "www.", "evil.test", "SITE.TEST", "ä", "ß", "\u3002", "\u200d", "xn--", " ", "a", "\x80", "127.0.0.1",
	})
	rapid.Check(t, func(t *rapid.T) {
		checkTarget(t, base, strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), ""))
	})
}

// FuzzExchange sends any bytes as the answer, over TLS in memory, and closes.
func FuzzExchange(f *testing.F) {
	for _, s := range []string{
		ok("x"), to("/b"), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
		"HTTP/1.1 103 Early Hints\r\n\r\n" + ok("x"), "HTTP/1.1 200 OK\n\nx", "HTTP/1.1 204 No\r\nX:\r\n y\r\n\r\n",
		coded("gzip", gzipped(f, []byte("x"))), coded("zstd", zstded(f, []byte("x"))), coded("", gzipped(f, []byte("x"))),
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy", "HTTP/1.0 999 \r\n\r\n", "",
	} {
		f.Add([]byte(s))
	}
	w := newWorld(f, time.Minute, nil)
	conf := &tls.Config{Certificates: []tls.Certificate{w.ca.leaf(f, nil, "site.test")}}
	f.Fuzz(func(t *testing.T, answer []byte) {
		w := w.over(t, time.Minute, func(c net.Conn) {
			s := tls.Server(c, conf)
			var b [4096]byte
			if _, err := s.Read(b[:]); err == nil {
				_, _ = s.Write(answer) // the client may have seen enough
				_ = s.CloseWrite()
			}
		})
		v := w.Open()
		defer v.Close()
		a := v.Fetch(t.Context(), fetch.Request{URL: &url.URL{Scheme: "https", Host: "site.test", Path: "/"}, MaxBody: 64})
		switch {
		case a.Err == nil && (a.Status < 200 || a.Status > 599):
			t.Errorf("status %d is an answer", a.Status)
		case a.Err != nil && (a.Err.Kind == fetch.Timeout || a.Err.Kind == fetch.Local || a.Err.Kind == fetch.Canceled):
			t.Errorf("error %v", a.Err)
		}
		if len(a.Body) > 64 || a.Cut && len(a.Body) != 64 {
			t.Errorf("%d bytes of body, cut %v", len(a.Body), a.Cut)
		}
	})
}

// over is a client whose connections are pipes that serve serves.
func (w *world) over(t *testing.T, timeout time.Duration, serve func(net.Conn)) *fetch.Client {
	t.Helper()
	c, err := fetch.New(fetch.Config{
		UserAgent: "TestBot/1.0", Signer: w, Resolver: w, Slots: w.slots, RootCAs: w.ca.pool, Timeout: timeout,
		Dial: func(context.Context, netip.AddrPort, string) (net.Conn, error) {
			here, there := net.Pipe()
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = there.Close() }()
				serve(there)
			}()
			t.Cleanup(func() { _ = here.Close(); <-done })
			return here, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
