package simweb

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/miekg/dns"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs a web for the length of a test.
func start(t *testing.T, c Config) *Web {
	t.Helper()
	w, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// oneSite is a web of one site, site.example.
func oneSite(t *testing.T, s ScenarioSite) *Web {
	t.Helper()
	s.Name = "site.example"
	return start(t, Config{Scenario: &Scenario{Only: true, Sites: []ScenarioSite{s}}})
}

// lookup asks the first DNS server for one type of address.
func lookup(ctx context.Context, w *Web, host string, kind uint16) (*dns.Msg, error) {
	q := new(dns.Msg).SetQuestion(dns.Fqdn(host), kind)
	c := &dns.Client{Timeout: 2 * time.Second}
	m, _, err := c.ExchangeContext(ctx, q, w.Resolvers()[0])
	if err == nil && m.Truncated {
		c.Net = "tcp"
		m, _, err = c.ExchangeContext(ctx, q, w.Resolvers()[0])
	}
	return m, err
}

func addressesIn(m *dns.Msg) (out []netip.Addr) {
	for _, rr := range m.Answer {
		switch r := rr.(type) {
		case *dns.A:
			a, _ := netip.AddrFromSlice(r.A.To4())
			out = append(out, a)
		case *dns.AAAA:
			a, _ := netip.AddrFromSlice(r.AAAA.To16())
			out = append(out, a)
		}
	}
	return out
}

// connect resolves a host over IPv4 and dials it as a crawler would.
func connect(ctx context.Context, w *Web, host string) (net.Conn, error) {
	m, err := lookup(ctx, w, host, dns.TypeA)
	if err != nil {
		return nil, err
	}
	addrs := addressesIn(m)
	if len(addrs) == 0 {
		return nil, errors.New("no address")
	}
	return w.Dial(ctx, netip.AddrPortFrom(addrs[0], 443), host)
}

// handshakeWith opens a TLS connection to a host.
func handshakeWith(ctx context.Context, w *Web, host string) (*tls.Conn, error) {
	raw, err := connect(ctx, w, host)
	if err != nil {
		return nil, err
	}
	c := tls.Client(raw, &tls.Config{ServerName: host, RootCAs: w.Roots(), NextProtos: []string{"http/1.1"}})
	if err := c.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	return c, nil
}

// browser is a net/http client of the web that follows no redirects.
func browser(t *testing.T, w *Web) *http.Client {
	tr := &http.Transport{
		DialTLSContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			return handshakeWith(ctx, w, host)
		},
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{
		Transport:     tr,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// get asks one URL.
func get(t *testing.T, c *http.Client, url string) (status int, body []byte, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return getWithin(ctx, c, url)
}

func getWithin(ctx context.Context, c *http.Client, url string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("A2A-Version", "1.0")
	resp, err := c.Do(req)
	if err != nil {
		return 0, nil, err
	}
	body, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, body, errors.Join(err, resp.Body.Close())
}

// until waits for a condition that a server reaches by itself.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(20 * time.Second)
	defer late.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("never: %s", what)
		}
	}
}
