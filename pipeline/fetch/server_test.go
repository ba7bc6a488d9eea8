package fetch_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"agentcensus/pipeline/fetch"

	"go.uber.org/goleak"
	"golang.org/x/sync/semaphore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// authority is a certificate authority of one test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{key: newKey(t), pool: x509.NewCertPool()}
	tpl := template("Test Authority")
	tpl.IsCA, tpl.BasicConstraintsValid, tpl.KeyUsage = true, true, x509.KeyUsageCertSign
	a.cert = parse(t, sign(t, tpl, tpl, &a.key.PublicKey, a.key))
	a.pool.AddCert(a.cert)
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func template(name string, hosts ...string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: hosts,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
}

func sign(t testing.TB, tpl, parent *x509.Certificate, pub *ecdsa.PublicKey, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, tpl, parent, pub, key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func parse(t testing.TB, der []byte) *x509.Certificate {
	t.Helper()
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// leaf mints a certificate for hosts, changed by change when it is not nil.
func (a *authority) leaf(t testing.TB, change func(*x509.Certificate), hosts ...string) tls.Certificate {
	t.Helper()
	k := newKey(t)
	tpl := template("leaf", hosts...)
	if change != nil {
		change(tpl)
	}
	return tls.Certificate{Certificate: [][]byte{sign(t, tpl, a.cert, &k.PublicKey, a.key)}, PrivateKey: k}
}

// server is a site of its own making: every connection is served by a
// function, and every request is noted.
type server struct {
	addr string

	mu       sync.Mutex
	conns    int
	requests []string // "host path"
	headers  []http.Header
	open     map[net.Conn]bool

	wg sync.WaitGroup
}

// peer is the server's end of one connection.
type peer struct {
	*tls.Conn
	raw *net.TCPConn
	br  *bufio.Reader
	s   *server
}

// next reads a request; false at the end of the connection.
func (p *peer) next() (*http.Request, bool) {
	r, err := http.ReadRequest(p.br)
	if err != nil {
		return nil, false
	}
	p.s.mu.Lock()
	p.s.requests = append(p.s.requests, r.Host+" "+r.RequestURI)
	p.s.headers = append(p.s.headers, r.Header)
	p.s.mu.Unlock()
	return r, true
}

// say writes text; it fails only when the client has gone, which is its right.
func (p *peer) say(text string) bool {
	_, err := p.Write([]byte(text))
	return err == nil
}

// drip writes text again and again until the client has gone.
func (p *peer) drip(text string, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for p.say(text) {
		<-tick.C
	}
}

// wait waits until the client has gone.
func (p *peer) wait() {
	var b [512]byte
	for {
		if _, err := p.raw.Read(b[:]); err != nil {
			return
		}
	}
}

// reset ends the connection with an RST.
func (p *peer) reset() {
	_ = p.raw.SetLinger(0)
	_ = p.raw.Close()
}

// listen starts a server whose connections handle gets before the handshake.
func listen(t testing.TB, handle func(s *server, c *net.TCPConn)) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{addr: l.Addr().String(), open: map[net.Conn]bool{}}
	s.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns++
			s.open[c] = true
			s.mu.Unlock()
			s.wg.Go(func() {
				defer func() {
					_ = c.Close()
					s.mu.Lock()
					delete(s.open, c)
					s.mu.Unlock()
				}()
				handle(s, c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		s.mu.Lock()
		for c := range s.open {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.wg.Wait()
	})
	return s
}

// world is a resolver, a signer and a dialer over loopback servers.
type world struct {
	t      testing.TB
	ca     *authority
	client *fetch.Client
	slots  *semaphore.Weighted

	mu     sync.Mutex
	hosts  map[string]*server
	dns    func(host string) ([]netip.Addr, error)
	signed []string
	sign   error
	events []fetch.Event
}

var publicAddr = netip.MustParseAddr("93.184.216.34")

// newWorld makes a client whose requests end after timeout.
func newWorld(t testing.TB, timeout time.Duration, change func(*fetch.Config)) *world {
	t.Helper()
	w := &world{t: t, ca: newAuthority(t), slots: semaphore.NewWeighted(1), hosts: map[string]*server{}}
	c := fetch.Config{
		UserAgent: "TestBot/1.0 (+https://bot.test/)", Signer: w, Resolver: w, Slots: w.slots,
		RootCAs: w.ca.pool, Timeout: timeout,
		Dial: w.dial,
		Observe: func(e fetch.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
		},
	}
	if change != nil {
		change(&c)
	}
	var err error
	if w.client, err = fetch.New(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !w.slots.TryAcquire(1) {
			t.Error("a slot was not given back")
		}
	})
	return w
}

func (w *world) LookupHost(_ context.Context, host string) ([]netip.Addr, error) {
	if w.dns != nil {
		return w.dns(host)
	}
	return []netip.Addr{publicAddr}, nil
}

func (w *world) Sign(h http.Header, method, authority, path string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sign != nil {
		return w.sign
	}
	w.signed = append(w.signed, method+" "+authority+" "+path)
	h.Set("Signature", fmt.Sprintf("sig1=:%d:", len(w.signed)))
	return nil
}

func (w *world) dial(ctx context.Context, _ netip.AddrPort, host string) (net.Conn, error) {
	w.mu.Lock()
	s := w.hosts[host]
	w.mu.Unlock()
	if s == nil {
		return nil, errors.New("no such server")
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", s.addr)
}

// serve makes a server of hosts: script plays each connection after its
// handshake.
func (w *world) serve(script func(p *peer), hosts ...string) *server {
	w.t.Helper()
	conf := &tls.Config{Certificates: []tls.Certificate{w.ca.leaf(w.t, nil, hosts...)}}
	return w.serveTLS(conf, script, hosts...)
}

func (w *world) serveTLS(conf *tls.Config, script func(p *peer), hosts ...string) *server {
	w.t.Helper()
	return w.serveTCP(func(s *server, raw *net.TCPConn) {
		c := tls.Server(raw, conf)
		if c.Handshake() != nil {
			return // the client's verdict is what is tested
		}
		script(&peer{Conn: c, raw: raw, br: bufio.NewReader(c), s: s})
	}, hosts...)
}

func (w *world) serveTCP(handle func(s *server, c *net.TCPConn), hosts ...string) *server {
	w.t.Helper()
	s := listen(w.t, handle)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range hosts {
		w.hosts[h] = s
	}
	return s
}

// pages serves fixed raw responses by path for as long as the client likes.
func pages(byPath map[string]string) func(p *peer) {
	return func(p *peer) {
		for {
			r, ok := p.next()
			if !ok {
				return
			}
			if text, ok := byPath[r.RequestURI]; !ok || !p.say(text) {
				return
			}
		}
	}
}

// ok is a whole 200.
func ok(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// to is a whole 302.
func to(location string) string {
	return "HTTP/1.1 302 Found\r\nLocation: " + location + "\r\nContent-Length: 0\r\n\r\n"
}

func (s *server) log() (conns int, requests []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns, append([]string(nil), s.requests...)
}

func (w *world) visit() *fetch.Visit {
	v := w.client.Open()
	w.t.Cleanup(v.Close)
	return v
}

// get fetches https:// + address with a limit of 100 bytes.
func get(t testing.TB, v *fetch.Visit, address string) fetch.Answer {
	t.Helper()
	u, err := url.Parse("https://" + address)
	if err != nil {
		t.Fatal(err)
	}
	return v.Fetch(t.Context(), fetch.Request{URL: u, MaxBody: 100})
}

func wantError(t testing.TB, a fetch.Answer, kind fetch.Kind, reason string) {
	t.Helper()
	switch {
	case a.Err == nil:
		t.Errorf("status %d, body %q; want error %s (%s)", a.Status, a.Body, kind, reason)
	case a.Err.Kind != kind || a.Err.Reason != reason:
		t.Errorf("error %v, want %s (%s)", a.Err, kind, reason)
	}
}

func wantBody(t testing.TB, a fetch.Answer, status int, body string) {
	t.Helper()
	if a.Err != nil || a.Status != status || string(a.Body) != body {
		t.Errorf("status %d, body %q, error %v; want %d %q", a.Status, a.Body, a.Err, status, body)
	}
}

func lines(s ...string) string { return strings.Join(s, "\r\n") + "\r\n\r\n" }
