package simweb

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// Every plain behaviour gives a net/http client the status that its effect
// states, and every broken one no whole answer.
func TestBehavioursAsNetHTTPSeesThem(t *testing.T) {
	// What net/http takes for an answer, and a careful client does not.
	lenient := []string{"status_099", "status_999", "upgrade_101", "gzip_broken", "encoding_unknown", "nothing_bomb", "zstd_window", "chunk_lies", "redirect_bad"}
	var sites []ScenarioSite
	all := newCatalogue()
	for name := range all {
		sites = append(sites, ScenarioSite{Name: hostOf(name), Card: &Play{Do: name}})
	}
	w := start(t, Config{Scenario: &Scenario{Only: true, Sites: sites}})
	c := browser(t, w)
	for name, b := range all {
		t.Run(name, func(t *testing.T) {
			limit := 20 * time.Second
			if unanswered(b.card.outcome) || slices.Contains(lenient, name) {
				limit = 400 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			status, body, err := getWithin(ctx, c, "https://"+hostOf(name)+CardPath)
			switch {
			case slices.Contains(lenient, name):
			case unanswered(b.card.outcome):
				if err == nil {
					t.Errorf("status %d and a whole body, want an error", status)
				}
			case err != nil:
				t.Errorf("no answer: %v", err)
			case b.hops == hopNone && status != b.card.status:
				t.Errorf("status %d, want %d", status, b.card.status)
			case b.hops != hopNone && status != 302:
				t.Errorf("status %d, want a redirect", status)
			case b.card.outcome == "soft_404" && b.card.reason == "empty" && len(body) != 0:
				t.Errorf("%d bytes in an empty body", len(body))
			}
		})
	}
}

func hostOf(behaviour string) string { return strings.ReplaceAll(behaviour, "_", "-") + ".example" }

func TestHandshakes(t *testing.T) {
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	for name, want := range map[string]any{
		"ok":            nil,
		"expired":       &invalid,
		"not_yet_valid": &invalid,
		"wrong_name":    &host,
		"unknown_ca":    &unknown,
		"self_signed":   &unknown,
		"tls10":         "protocol version",
		"rsa_kex":       "handshake failure",
		"alert":         "unrecognized name",
		"eof":           "EOF",
		"plain_http":    "does not look like a TLS handshake",
		"stall":         "deadline exceeded",
		"late":          nil,
		"client_cert":   nil, // see TestAlertAfterTheHandshake

		"alert_handshake_failure": "handshake failure",
		"alert_internal_error":    "internal error",
	} {
		t.Run(name, func(t *testing.T) {
			w := oneSite(t, ScenarioSite{TLS: name})
			limit := 20 * time.Second
			if name == "stall" {
				limit = 200 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			c, err := handshakeWith(ctx, w, "site.example")
			switch want := want.(type) {
			case nil:
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			case string:
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q", err, want)
				}
			default:
				if !errors.As(err, want) {
					t.Errorf("error %v, want a %T", err, want)
				}
			}
		})
	}
}

// The client has done its handshake, and may write, when it learns that it is
// refused.
func TestAlertAfterTheHandshake(t *testing.T) {
	w := oneSite(t, ScenarioSite{TLS: "client_cert"})
	c, err := handshakeWith(t.Context(), w, "site.example")
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, c.NetConn())
	if _, err := c.Write([]byte("GET /robots.txt HTTP/1.1\r\nHost: site.example\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("error %v, want the alert", err)
	}
	if n := len(requests(w.Log())); n != 0 {
		t.Errorf("%d requests in the log", n)
	}
}

// The certificate of a site covers its www name too.
func TestOneCertificateForApexAndWWW(t *testing.T) {
	w := start(t, Config{Profile: Plain})
	for _, host := range []string{"a.example", "www.a.example"} {
		c, err := handshakeWith(t.Context(), w, host)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestNameServices(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rcode int
		v4    int // addresses; -1: any
		v6    int
	}{
		{"ok", dns.RcodeSuccess, 1, -1},
		{"nxdomain", dns.RcodeNameError, 0, 0},
		{"nodata", dns.RcodeSuccess, 0, 0},
		{"servfail", dns.RcodeServerFailure, 0, 0},
		{"dns_refused", dns.RcodeRefused, 0, 0},
		{"alias", dns.RcodeSuccess, 1, -1},
		{"alias_nodata", dns.RcodeSuccess, 0, 0},
		{"many", dns.RcodeSuccess, 200, -1},
		{"mixed", dns.RcodeSuccess, 2, -1},
		{"v6_broken", dns.RcodeSuccess, 1, 1},
		{"loopback", dns.RcodeSuccess, 1, 1},
		{"nat64", dns.RcodeSuccess, 0, 1},
		{"mapped", dns.RcodeSuccess, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := oneSite(t, ScenarioSite{DNS: tt.name})
			for kind, want := range map[uint16]int{dns.TypeA: tt.v4, dns.TypeAAAA: tt.v6} {
				m, err := lookup(t.Context(), w, "site.example", kind)
				if err != nil {
					t.Fatal(err)
				}
				a := addressesIn(m)
				if m.Rcode != tt.rcode || want >= 0 && len(a) != want {
					t.Errorf("%s: code %d with %d addresses, want %d with %d", dns.TypeToString[kind], m.Rcode, len(a), tt.rcode, want)
				}
			}
		})
	}
	t.Run("dns_silent", func(t *testing.T) {
		w := oneSite(t, ScenarioSite{DNS: "dns_silent"})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if m, err := lookup(ctx, w, "site.example", dns.TypeA); err == nil {
			t.Errorf("an answer: %v", m)
		}
	})
	t.Run("nxdomain_once", func(t *testing.T) {
		w := oneSite(t, ScenarioSite{DNS: "nxdomain_once"})
		q := new(dns.Msg).SetQuestion("site.example.", dns.TypeA)
		for i, want := range []int{dns.RcodeNameError, dns.RcodeSuccess} {
			m, _, err := (&dns.Client{}).ExchangeContext(t.Context(), q, w.Resolvers()[i])
			if err != nil || m.Rcode != want {
				t.Errorf("server %d: %v, %v", i, m, err)
			}
		}
	})
}

// Every address that a seeded site gives is public, unless its fate says that
// none is.
func TestSeededAddressesArePublic(t *testing.T) {
	w := start(t, Config{Profile: Measured})
	for _, name := range w.Names(3000) {
		p := w.plan(name, 0)
		if p.dns.rcode != dns.RcodeSuccess || p.dns.silent {
			continue // no address leaves the server
		}
		dialable := 0
		for _, a := range w.addresses(p) {
			if public(a) {
				dialable++
			}
		}
		if want := p.dns.effect.outcome == ""; want != (dialable > 0) {
			t.Errorf("%s: %d public addresses, outcome of its DNS %q", name, dialable, p.dns.effect.outcome)
		}
	}
}

func TestLinks(t *testing.T) {
	addr := netip.MustParseAddrPort("93.1.2.3:443")
	t.Run("refused", func(t *testing.T) {
		w := oneSite(t, ScenarioSite{Link: "refused"})
		if _, err := w.Dial(t.Context(), addr, "site.example"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("black hole", func(t *testing.T) {
		w := oneSite(t, ScenarioSite{Link: "black_hole"})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := w.Dial(ctx, addr, "site.example")
		var ne net.Error
		if !errors.As(err, &ne) || !ne.Timeout() {
			t.Errorf("error %v, want a timeout", err)
		}
		if w.Stats().BlockedTime <= 0 { // less than the 50 ms, which began before
			t.Error("no time was spent")
		}
	})
	t.Run("an address that is not public is never connected to", func(t *testing.T) {
		w := oneSite(t, ScenarioSite{})
		for _, a := range []string{"127.0.0.1:443", "10.0.0.1:443", "[::1]:443", "[::ffff:10.0.0.1]:443", "[64:ff9b::a00:1]:443", "93.1.2.3:8443"} {
			if c, err := w.Dial(t.Context(), netip.MustParseAddrPort(a), "site.example"); err == nil {
				t.Errorf("%s: connected", a)
				closing(t, c)
			}
		}
		if n := w.Stats().Dials; n != 6 {
			t.Errorf("%d dials in the log, want 6", n)
		}
	})
}

// A connection that is closed after an answer says keep-alive all the same.
func TestCloseAfterTheAnswer(t *testing.T) {
	w := oneSite(t, ScenarioSite{Robots: &Play{Do: "close_after"}})
	c, err := handshakeWith(t.Context(), w, "site.example")
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, c.NetConn())
	if _, err := io.WriteString(c, "GET /robots.txt HTTP/1.1\r\nHost: site.example\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the connection stayed open")
	}
	if !strings.Contains(string(all), "Connection: keep-alive") {
		t.Errorf("answer %q", all)
	}
}

// The version a card needs is told by a header.
func TestCardNeedsVersion(t *testing.T) {
	w := oneSite(t, ScenarioSite{Card: &Play{Do: "card_needs_version"}})
	c := browser(t, w)
	for _, tt := range []struct {
		version string
		status  int
	}{{"1.0", 200}, {"", 400}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://site.example"+CardPath, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.version != "" {
			req.Header.Set("A2A-Version", tt.version)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil || resp.StatusCode != tt.status {
			t.Errorf("version %q: status %d, %v", tt.version, resp.StatusCode, err)
		}
	}
}

// The file cut at the limit ends within a rule that would forbid everything.
func TestCutRuleIsCutWithinARule(t *testing.T) {
	file := cutRule()
	if got := file[robotsLimit-12 : robotsLimit]; got != "\nDisallow: /" {
		t.Errorf("the first 512,000 bytes end with %q", got)
	}
	if !strings.HasPrefix(file[robotsLimit:], "attic/") {
		t.Error("nothing of the rule follows")
	}
}
