package fetch_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"agentcensus/pipeline/fetch"

	"github.com/google/go-cmp/cmp"
)

const (
	patient   = 20 * time.Second        // where no timeout is expected
	impatient = 1500 * time.Millisecond // where one is; a handshake must fit in on a busy machine
)

func TestRequestCarriesOnlyTheseFields(t *testing.T) {
	w := newWorld(t, patient, nil)
	s := w.serve(pages(map[string]string{"/a%20b?q=1": ok("x")}), "site.test")
	u, err := url.Parse("https://Site.test/a b?q=1")
	if err != nil {
		t.Fatal(err)
	}
	a := w.visit().Fetch(t.Context(), fetch.Request{URL: u, Accept: "application/json", A2AVersion: "1.0", MaxBody: 10})
	wantBody(t, a, 200, "x")
	want := http.Header{
		"User-Agent": {"TestBot/1.0 (+https://bot.test/)"}, "Accept": {"application/json"},
		"Accept-Encoding": {"gzip, zstd"}, "A2a-Version": {"1.0"}, "Signature": {"sig1=:1:"},
	}
	if d := cmp.Diff(want, s.headers[0]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"site.test /a%20b?q=1"}, s.requests); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"GET site.test /a%20b"}, w.signed); d != "" {
		t.Error(d)
	}
}

func TestOneConnectionCarriesAllRequests(t *testing.T) {
	w := newWorld(t, patient, nil)
	s := w.serve(pages(map[string]string{
		"/1": ok("one"), "/3": ok("three"),
		"/2": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n",
	}), "site.test")
	v := w.visit()
	wantBody(t, get(t, v, "site.test/1"), 200, "one")
	wantBody(t, get(t, v, "site.test/2"), 200, "two")
	wantBody(t, get(t, v, "site.test/3"), 200, "three")
	if conns, _ := s.log(); conns != 1 {
		t.Errorf("%d connections, want 1", conns)
	}
}

func TestNothingIsSentUnsigned(t *testing.T) {
	w := newWorld(t, patient, nil)
	w.sign = errors.New("no key")
	s := w.serve(pages(map[string]string{"/": ok("x")}), "site.test")
	a := get(t, w.visit(), "site.test/")
	wantError(t, a, fetch.SigningFailed, "")
	if _, requests := s.log(); len(requests) != 0 || a.Requests != 0 {
		t.Errorf("server saw %v, %d counted; want none", requests, a.Requests)
	}
}

// A kept connection that the peer closed in time is replaced; one that dies
// under the request is never asked again on another.
func TestDyingKeepAlive(t *testing.T) {
	t.Run("closed in time", func(t *testing.T) {
		for _, how := range []string{"TLS", "TCP", "reset"} {
			t.Run(how, func(t *testing.T) {
				w := newWorld(t, patient, nil)
				closed := make(chan struct{}, 2)
				s := w.serve(func(p *peer) {
					if _, ok := p.next(); !ok {
						return
					}
					p.say("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
					switch how {
					case "TLS":
						_ = p.Close()
					case "TCP":
						_ = p.raw.Close()
					case "reset":
						p.reset()
					}
					closed <- struct{}{}
				}, "site.test")
				v := w.visit()
				wantBody(t, get(t, v, "site.test/1"), 200, "x")
				<-closed
				a := get(t, v, "site.test/2")
				wantBody(t, a, 200, "x")
				conns, requests := s.log()
				if conns != 2 || len(requests) != 2 || a.Requests != 1 {
					t.Errorf("%d connections, requests %v, %d counted; want each once on its own", conns, requests, a.Requests)
				}
			})
		}
	})
	t.Run("closed too late", func(t *testing.T) {
		w := newWorld(t, patient, nil)
		s := w.serve(func(p *peer) {
			p.next()
			p.say(ok("x"))
			p.next()
		}, "site.test")
		v := w.visit()
		wantBody(t, get(t, v, "site.test/1"), 200, "x")
		a := get(t, v, "site.test/2")
		wantError(t, a, fetch.ConnectionLost, "eof")
		wantError(t, get(t, v, "site.test/2"), fetch.ConnectionLost, "eof")
		conns, requests := s.log()
		if conns != 1 || !slices.Equal(requests, []string{"site.test /1", "site.test /2"}) || a.Requests != 1 {
			t.Errorf("%d connections, requests %v; want /2 once on the first", conns, requests)
		}
	})
}

func TestConnectionsNotFitForReuse(t *testing.T) {
	for name, first := range map[string]string{
		"Connection: close":            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
		"HTTP/1.0":                     "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx",
		"both framings":                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
		"both framings, other case":    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n1\r\nx\r\n0\r\n\r\n",
		"bytes after the body":         ok("x") + ok("smuggled"),
		"cut body":                     ok(strings.Repeat("x", 101)),
		"redirect with a huge body":    "HTTP/1.1 302 Found\r\nLocation: /9\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100000),
		"redirect with a cut body":     "HTTP/1.1 302 Found\r\nLocation: /9\r\nContent-Length: 10\r\nConnection: close\r\n\r\n",
		"redirect in a strange coding": "HTTP/1.1 302 Found\r\nLocation: /9\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, patient, nil)
			s := w.serve(func(p *peer) {
				r, more := p.next()
				for more && r.URL.Path != "/1" {
					p.say(ok("y"))
					r, more = p.next()
				}
				if !more || !p.say(first) {
					return
				}
				if strings.Contains(name, "cut body") {
					_ = p.CloseWrite()
				}
				p.wait()
			}, "site.test")
			v := w.visit()
			if a := get(t, v, "site.test/1"); a.Err != nil {
				t.Fatal(a.Err)
			}
			wantBody(t, get(t, v, "site.test/2"), 200, "y")
			if conns, _ := s.log(); conns != 2 {
				t.Errorf("%d connections, want a new one", conns)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	big := "X-Big: " + strings.Repeat("b", 60<<10) + "\r\n"
	interim := "HTTP/1.1 103 Early Hints\r\n\r\n"
	for _, c := range []struct {
		name, text string
		status     int
		body       string
		kind       fetch.Kind
		reason     string
		closes     bool // orderly, after text
	}{
		{name: "length", text: ok("abc"), status: 200, body: "abc"},
		{name: "bare line feeds", text: "HTTP/1.1 200 OK\nContent-Length: 1\n\nx", status: 200, body: "x"},
		{name: "no reason phrase", text: "HTTP/1.1 404\r\nContent-Length: 1\r\n\r\nx", status: 404, body: "x"},
		{name: "until close", text: "HTTP/1.1 200 OK\r\n\r\nabc", closes: true, status: 200, body: "abc"},
		{name: "until close, not announced", text: "HTTP/1.1 200 OK\r\n\r\nabc", kind: fetch.ConnectionLost, reason: "body_truncated"},
		{name: "HTTP/1.0", text: "HTTP/1.0 200 OK\r\n\r\nabc", closes: true, status: 200, body: "abc"},
		{name: "204", text: "HTTP/1.1 204 No Content\r\n\r\n", status: 204},
		{name: "300 is an answer", text: "HTTP/1.1 300 Multiple Choices\r\nLocation: /b\r\nContent-Length: 1\r\n\r\nx", status: 300, body: "x"},
		{name: "304 is an answer", text: "HTTP/1.1 304 Not Modified\r\nLocation: /b\r\n\r\n", status: 304},
		{name: "two equal lengths", text: lines("HTTP/1.1 200 OK", "Content-Length: 1", "Content-Length: 1") + "x", status: 200, body: "x"},
		{name: "60 KiB of header", text: "HTTP/1.1 200 OK\r\n" + big + "Content-Length: 1\r\n\r\nx", status: 200, body: "x"},
		{name: "eight 1xx", text: strings.Repeat(interim, 8) + ok("x"), status: 200, body: "x"},
		{name: "a header limit for each 1xx", text: strings.Repeat("HTTP/1.1 103 Early Hints\r\n"+big+"\r\n", 2) + ok("x"), status: 200, body: "x"},
		{name: "trailers", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n1\r\nx\r\n0\r\nX-T: v\r\n\r\n", status: 200, body: "x"},

		{name: "nine 1xx", text: strings.Repeat(interim, 9) + ok("x"), kind: fetch.ProtocolError, reason: "too_many_1xx"},
		{name: "70 KiB of header", text: "HTTP/1.1 200 OK\r\n" + big + big + "\r\n", kind: fetch.ProtocolError, reason: "headers_too_large"},
		{name: "one header line without end", text: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", 70<<10), kind: fetch.ProtocolError, reason: "headers_too_large"},
		{name: "101", text: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", status: 101, kind: fetch.ProtocolError, reason: "upgrade"},
		{name: "status 099", text: "HTTP/1.1 099 Low\r\n\r\n", status: 99, kind: fetch.ProtocolError, reason: "status"},
		{name: "status 999", text: "HTTP/1.1 999 High\r\n\r\n", status: 999, kind: fetch.ProtocolError, reason: "status"},
		{name: "status 600", text: "HTTP/1.1 600 High\r\n\r\n", status: 600, kind: fetch.ProtocolError, reason: "status"},
		{name: "status -01", text: "HTTP/1.1 -01 Low\r\n\r\n", kind: fetch.ProtocolError, reason: "malformed"},
		{name: "no status", text: "HTTP/1.1\r\n\r\n", kind: fetch.ProtocolError, reason: "malformed"},
		{name: "HTTP/0.9", text: "<html>hello</html>", kind: fetch.ProtocolError, reason: "malformed"},
		{name: "HTTP/2 frames", text: "\x00\x00\x12\x04\x00\x00\x00\x00\x00", kind: fetch.ProtocolError, reason: "malformed"},
		{name: "HTTP/2.0 in words", text: "HTTP/2.0 200 OK\r\n\r\n", kind: fetch.ProtocolError, reason: "malformed"},
		{name: "header without colon", text: "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", kind: fetch.ProtocolError, reason: "malformed"},
		{name: "two lengths", text: lines("HTTP/1.1 200 OK", "Content-Length: 1", "Content-Length: 2") + "xy", kind: fetch.ProtocolError, reason: "content_length"},
		{name: "negative length", text: lines("HTTP/1.1 200 OK", "Content-Length: -1"), kind: fetch.ProtocolError, reason: "content_length"},
		{name: "length of many digits", text: lines("HTTP/1.1 200 OK", "Content-Length: 99999999999999999999"), kind: fetch.ProtocolError, reason: "content_length"},
		{name: "other transfer coding", text: lines("HTTP/1.1 200 OK", "Transfer-Encoding: gzip"), kind: fetch.ProtocolError, reason: "transfer_encoding"},
		{name: "two transfer codings", text: lines("HTTP/1.1 200 OK", "Transfer-Encoding: gzip, chunked"), kind: fetch.ProtocolError, reason: "transfer_encoding"},
		{name: "chunk size that lies", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n0\r\n\r\n", status: 200, kind: fetch.ProtocolError, reason: "transfer_encoding"},
		{name: "chunk size that is none", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxx\r\n", status: 200, kind: fetch.ProtocolError, reason: "transfer_encoding"},
		{name: "endless chunk extension", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("e", 100<<10), status: 200, kind: fetch.ProtocolError, reason: "transfer_encoding"},

		{name: "nothing", closes: true, kind: fetch.ConnectionLost, reason: "eof"},
		{name: "half a status line", text: "HTTP/1.", closes: true, kind: fetch.ConnectionLost, reason: "eof"},
		{name: "half a header", text: "HTTP/1.1 200 OK\r\nContent-", closes: true, kind: fetch.ConnectionLost, reason: "eof"},
		{name: "body too short", text: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", closes: true, status: 200, kind: fetch.ConnectionLost, reason: "body_truncated"},
		{name: "chunk too short", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc", closes: true, status: 200, kind: fetch.ConnectionLost, reason: "body_truncated"},
		{name: "no last chunk", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", closes: true, status: 200, kind: fetch.ConnectionLost, reason: "body_truncated"},
		{name: "trailers cut", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-T: ", closes: true, status: 200, kind: fetch.ConnectionLost, reason: "body_truncated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, patient, nil)
			s := w.serve(func(p *peer) {
				if _, ok := p.next(); !ok {
					return
				}
				p.say(c.text)
				switch {
				case c.closes:
					_ = p.CloseWrite()
				case strings.Contains(c.name, "not announced"):
					_ = p.raw.CloseWrite()
				}
				p.wait()
			}, "site.test")
			a := get(t, w.visit(), "site.test/")
			if c.kind != "" {
				wantError(t, a, c.kind, c.reason)
				if c.status != 0 && a.Status != c.status {
					t.Errorf("status %d, want %d", a.Status, c.status)
				}
			} else {
				wantBody(t, a, c.status, c.body)
			}
			if conns, requests := s.log(); conns != 1 || len(requests) != 1 || a.Requests != 1 {
				t.Errorf("%d connections, requests %v, %d counted; want one", conns, requests, a.Requests)
			}
		})
	}
}

func TestResets(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		reason string
	}{
		"before the header": {"", "reset"},
		"in the header":     {"HTTP/1.1 200 OK\r\nX-", "reset"},
		"in the body":       {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "body_truncated"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, patient, nil)
			w.serve(func(p *peer) {
				p.next()
				p.say(c.text)
				p.reset()
			}, "site.test")
			a := get(t, w.visit(), "site.test/")
			// What had arrived may be lost with the reset.
			if a.Err == nil || a.Err.Kind != fetch.ConnectionLost {
				t.Errorf("error %v, want %s", a.Err, fetch.ConnectionLost)
			}
			if a.Status == 200 && a.Err != nil && a.Err.Reason != c.reason {
				t.Errorf("error %v, want %s", a.Err, c.reason)
			}
		})
	}
}

func TestEveryPhaseEndsInTime(t *testing.T) {
	body := "HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n"
	for _, c := range []struct {
		name, reason string
		script       func(p *peer)
	}{
		{"silence", "headers", func(p *peer) { p.wait() }},
		{"drip of header lines", "headers", func(p *peer) {
			p.say("HTTP/1.1 200 OK\r\n")
			p.drip("X: y\r\n", 5*time.Millisecond)
		}},
		{"drip of 1xx", "headers", func(p *peer) { p.drip("HTTP/1.1 103 Early Hints\r\n\r\n", 400*time.Millisecond) }},
		{"stalled body", "body", func(p *peer) { p.say(body + "x"); p.wait() }},
		{"drip of body", "body", func(p *peer) { p.say(body); p.drip("x", 50*time.Millisecond) }},
		{"drip of chunks", "body", func(p *peer) {
			p.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			p.drip("1\r\nx\r\n", 20*time.Millisecond)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, impatient, nil)
			w.serve(func(p *peer) { p.next(); c.script(p) }, "site.test")
			begun := time.Now()
			a := get(t, w.visit(), "site.test/")
			wantError(t, a, fetch.Timeout, c.reason)
			if d := time.Since(begun); d < impatient || d > impatient+2*time.Second {
				t.Errorf("took %v, want %v", d, impatient)
			}
		})
	}
	t.Run("handshake", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, impatient, nil)
		w.serveTCP(func(_ *server, c *net.TCPConn) { (&peer{raw: c}).wait() }, "site.test")
		wantError(t, get(t, w.visit(), "site.test/"), fetch.Timeout, "handshake")
	})
	t.Run("connect", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, impatient, func(c *fetch.Config) {
			c.Dial = func(ctx context.Context, _ netip.AddrPort, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
		})
		a := get(t, w.visit(), "site.test/")
		wantError(t, a, fetch.Timeout, "connect")
		// A connection that is not there is given up before the whole time is
		// over, late enough for three SYNs.
		if a.Requests != 0 || a.Elapsed < impatient*6/10 || a.Elapsed >= impatient {
			t.Errorf("%d requests in %v; want none sent, and its time counted", a.Requests, a.Elapsed)
		}
	})
	t.Run("kept connection has a time of its own", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, impatient, nil)
		answered := make(chan struct{}, 1)
		w.serve(func(p *peer) {
			for range 2 {
				p.next()
				p.say(ok("x"))
				answered <- struct{}{}
			}
			p.wait()
		}, "site.test")
		v := w.visit()
		wantBody(t, get(t, v, "site.test/1"), 200, "x")
		<-answered
		<-time.After(impatient) // the deadline of the first has passed
		wantBody(t, get(t, v, "site.test/2"), 200, "x")
	})
}

// The phases of a request share one time: what connecting and the handshake
// took is gone.
func TestAllPhasesShareOneTime(t *testing.T) {
	const whole, toConnect, toShake = 3 * time.Second, 1800 * time.Millisecond, 600 * time.Millisecond
	late := func(ctx context.Context, d time.Duration) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	var w *world
	w = newWorld(t, whole, func(c *fetch.Config) {
		c.Dial = func(ctx context.Context, a netip.AddrPort, host string) (net.Conn, error) {
			late(ctx, toConnect)
			return w.dial(ctx, a, host)
		}
	})
	leaf := w.ca.leaf(t, nil, "site.test")
	conf := &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		late(h.Context(), toShake)
		return &leaf, nil
	}}
	w.serveTLS(conf, func(p *peer) {
		p.next()
		p.drip("HTTP/1.1 103 Early Hints\r\n\r\n", 300*time.Millisecond)
	}, "site.test")
	begun := time.Now()
	// On a busy machine the handshake may not come to its end.
	if a := get(t, w.visit(), "site.test/"); a.Err == nil || a.Err.Kind != fetch.Timeout {
		t.Errorf("status %d, error %v; want a timeout", a.Status, a.Err)
	}
	// A time of its own for what follows the connection would end after this.
	if d := time.Since(begun); d < whole || d >= toConnect+whole {
		t.Errorf("took %v, want %v", d, whole)
	}
}

// A peer that reads nothing blocks the writing of a request, which ends in time
// too. A pipe has no buffer that could take it.
func TestABlockedWriteEndsInTime(t *testing.T) {
	w := newWorld(t, patient, nil)
	conf := &tls.Config{Certificates: []tls.Certificate{w.ca.leaf(t, nil, "site.test")}, SessionTicketsDisabled: true}
	shaken := make(chan error, 1)
	client := w.over(t, impatient, func(c net.Conn) {
		shaken <- tls.Server(c, conf).HandshakeContext(t.Context())
		<-t.Context().Done()
	})
	v := client.Open()
	defer v.Close()
	begun := time.Now()
	wantError(t, get(t, v, "site.test/"), fetch.Timeout, "headers")
	if d := time.Since(begun); d < impatient || d > impatient+2*time.Second {
		t.Errorf("took %v, want %v", d, impatient)
	}
	if err := <-shaken; err != nil {
		t.Errorf("it did not come to the request: %v", err)
	}
}

func TestTheCallersContextEndsAWait(t *testing.T) {
	w := newWorld(t, time.Minute, nil)
	asked := make(chan struct{})
	w.serve(func(p *peer) { p.next(); close(asked); p.wait() }, "site.test")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	v := w.visit()
	a := v.Fetch(ctx, fetch.Request{URL: &url.URL{Scheme: "https", Host: "site.test", Path: "/"}, MaxBody: 1})
	wantError(t, a, fetch.Canceled, "")

	t.Run("while waiting for a slot", func(t *testing.T) {
		if !w.slots.TryAcquire(1) {
			t.Fatal("slot is taken")
		}
		defer w.slots.Release(1)
		wantError(t, v.Fetch(ctx, fetch.Request{URL: &url.URL{Scheme: "https", Host: "site.test", Path: "/2"}}), fetch.Canceled, "")
	})
}

// The slots of a world are one: a nested fetch would hang if a slot were
// held while Permit is asked.
func TestNoSlotIsHeldWhilePermitIsAsked(t *testing.T) {
	w := newWorld(t, patient, nil)
	w.serve(pages(map[string]string{"/robots.txt": ok("r"), "/a": ok("a")}), "site.test")
	v := w.visit()
	a := v.Fetch(t.Context(), fetch.Request{
		URL: &url.URL{Scheme: "https", Host: "site.test", Path: "/a"}, MaxBody: 9,
		Permit: func(ctx context.Context, u *url.URL, _ int) error {
			wantBody(t, get(t, v, u.Host+"/robots.txt"), 200, "r")
			return nil
		},
	})
	wantBody(t, a, 200, "a")
}

// Still is asked with the slot in hand, when Permit may have been long ago; its
// refusal sends nothing and gives the slot back.
func TestStillIsAskedRightBeforeARequest(t *testing.T) {
	w := newWorld(t, patient, nil)
	site := w.serve(pages(map[string]string{"/1": to("/2"), "/2": ok("x")}), "site.test")
	var asked []string
	a := w.visit().Fetch(t.Context(), fetch.Request{
		URL: &url.URL{Scheme: "https", Host: "site.test", Path: "/1"},
		Still: func(u *url.URL) error {
			if w.slots.TryAcquire(1) {
				w.slots.Release(1)
				t.Error("asked without the slot")
			}
			asked = append(asked, u.Path)
			if u.Path == "/2" {
				return &fetch.Error{Kind: fetch.RedirectRefused, Reason: "opted_out"}
			}
			return nil
		},
	})
	wantError(t, a, fetch.RedirectRefused, "opted_out")
	if _, requests := site.log(); len(requests) != 1 || len(asked) != 2 || a.Requests != 1 || a.Status != 302 {
		t.Errorf("asked for %v, sent %v: %+v", asked, requests, a)
	}
}

func TestEventsTellOfWaitLookupAndRequest(t *testing.T) {
	w := newWorld(t, patient, nil)
	w.serve(pages(map[string]string{"/1": ok("x"), "/2": ok("y")}), "site.test")
	v := w.visit()
	get(t, v, "site.test/1")
	get(t, v, "site.test/2")
	var got []fetch.Event
	for _, e := range w.events {
		e.Duration = 0
		got = append(got, e)
	}
	want := []fetch.Event{
		{Kind: fetch.Lookup}, {Kind: fetch.SlotWait}, {Kind: fetch.Sent, Status: 200},
		{Kind: fetch.SlotWait}, {Kind: fetch.Sent, Status: 200, Reused: true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestTimesInAnAnswer(t *testing.T) {
	tick := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	w := newWorld(t, patient, func(c *fetch.Config) {
		c.Now = func() time.Time { tick = tick.Add(time.Second); return tick }
	})
	w.serve(pages(map[string]string{"/1": to("/2"), "/2": ok("x")}), "site.test")
	a := get(t, w.visit(), "site.test/1")
	if a.Latency != time.Second || a.Elapsed != 2*time.Second || !a.At.Equal(tick.Add(-time.Second)) {
		t.Errorf("latency %v, elapsed %v, at %v", a.Latency, a.Elapsed, a.At)
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	w := newWorld(t, patient, nil)
	good := fetch.Config{UserAgent: "Bot/1", Signer: w, Resolver: w, Slots: w.slots}
	for want, change := range map[string]func(*fetch.Config){
		"user agent": func(c *fetch.Config) { c.UserAgent = "two\r\nlines" },
		"signer":     func(c *fetch.Config) { c.Signer = nil },
		"resolver":   func(c *fetch.Config) { c.Resolver = nil },
		"slots":      func(c *fetch.Config) { c.Slots = nil },
		"timeout":    func(c *fetch.Config) { c.Timeout = -1 },
	} {
		c := good
		change(&c)
		if _, err := fetch.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %s", err, want)
		}
	}
}
