package simweb

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

// listenAddrs is on how many addresses of 127.86.0.0/16 the server listens, so
// that thousands of sites a second do not use up the ephemeral ports of one.
const listenAddrs = 64

// Web is a running web. Its methods are safe for concurrent use.
type Web struct {
	cfg       Config
	profile   *profile
	catalogue catalogue
	issuer    *issuer
	log       journal
	flights   flights
	epoch     atomic.Int64
	conns     atomic.Int64 // numbers given to connections
	bombs     bombs
	listen    []net.Listener
	names     []*dns.Server
	resolver  []string

	done chan struct{}
	wg   sync.WaitGroup

	mu     sync.Mutex // guards live and closed
	live   map[net.Conn]struct{}
	closed bool
}

// Start runs a web until Close, or until ctx ends. It listens on loopback
// addresses only.
func Start(ctx context.Context, c Config) (*Web, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	w := &Web{
		cfg: c, profile: profiles[c.Profile], catalogue: newCatalogue(),
		done: make(chan struct{}), live: map[net.Conn]struct{}{},
	}
	w.flights.open = map[wire]*flight{}
	w.epoch.Store(int64(c.Epoch))
	w.log.mode = c.Log
	if c.Log == LogWriter {
		w.log.enc = json.NewEncoder(c.LogTo)
	}
	if w.issuer, err = newIssuer(c.Now()); err != nil {
		return nil, fmt.Errorf("simweb: make a certificate authority: %w", err)
	}
	if err := w.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("simweb: %w", err), w.Close())
	}
	w.wg.Add(1)
	go func() {
		defer w.wg.Done()
		select {
		case <-ctx.Done():
			w.shut()
		case <-w.done:
		}
	}()
	return w, nil
}

// open starts the listeners: the TLS server on one port of many addresses where
// the system has them, else on 127.0.0.1 alone, and two DNS servers.
func (w *Web) open(ctx context.Context) error {
	var lc net.ListenConfig
	first, err := lc.Listen(ctx, "tcp4", "127.86.0.1:0")
	if err != nil {
		if first, err = lc.Listen(ctx, "tcp4", "127.0.0.1:0"); err != nil {
			return err
		}
	}
	w.listen = []net.Listener{first}
	port := strconv.Itoa(w.Port())
	if first.Addr().(*net.TCPAddr).IP.To4()[1] == 86 {
		for i := 2; i <= listenAddrs; i++ {
			l, err := lc.Listen(ctx, "tcp4", fmt.Sprintf("127.86.0.%d:%s", i, port))
			if err != nil {
				break // as many as the system gives
			}
			w.listen = append(w.listen, l)
		}
	}
	for _, l := range w.listen {
		w.wg.Add(1)
		go w.accept(l)
	}
	for i := range 2 {
		if err := w.serveNames(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// Port is the TCP port of the TLS server on all its addresses.
func (w *Web) Port() int { return w.listen[0].Addr().(*net.TCPAddr).Port }

// Addr is one of the addresses of the TLS server: each answers for any name.
func (w *Web) Addr() netip.AddrPort { return w.listen[0].Addr().(*net.TCPAddr).AddrPort() }

// Resolvers are the DNS servers, as host:port, each over UDP and TCP.
func (w *Web) Resolvers() []string { return append([]string(nil), w.resolver...) }

// Roots holds the web's own certificate authority.
func (w *Web) Roots() *x509.CertPool { return w.issuer.roots() }

// CAPEM is that authority's certificate.
func (w *Web) CAPEM() []byte { return w.issuer.pem() }

// SetEpoch moves the web to another time: with a higher epoch some publishers
// appear, vanish or change their card, see Fate.Change.
func (w *Web) SetEpoch(epoch int) { w.epoch.Store(int64(epoch)) }

// Err is the first error of writing the log.
func (w *Web) Err() error {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	return w.log.err
}

// Close ends every connection, stalled ones too, and waits for all goroutines
// of the web.
func (w *Web) Close() error {
	w.shut()
	w.wg.Wait()
	return w.Err()
}

// shut closes what is open. It holds no lock while it waits for DNS handlers,
// which may want it.
func (w *Web) shut() {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	w.closed = true
	live := slices.Collect(maps.Keys(w.live))
	w.mu.Unlock()

	close(w.done)
	for _, l := range w.listen {
		w.note(l.Close())
	}
	for _, c := range live {
		w.note(c.Close())
	}
	for _, s := range w.names {
		w.note(s.Shutdown())
	}
}

// note keeps an error that nobody is there to be given.
func (w *Web) note(err error) {
	if err == nil || errors.Is(err, net.ErrClosed) {
		return
	}
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	w.log.err = errors.Join(w.log.err, err)
}

func (w *Web) accept(l net.Listener) {
	defer w.wg.Done()
	for {
		c, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			// Out of file descriptors, it may be, by a client in this process.
			if !w.sleep(10*time.Millisecond, nil) {
				return
			}
			continue
		}
		if !w.keep(c) {
			w.note(c.Close())
			return
		}
		go w.serve(c.(*net.TCPConn))
	}
}

// keep counts a connection among the live ones unless the web is closed.
func (w *Web) keep(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.live[c] = struct{}{}
	w.wg.Add(1)
	return true
}

func (w *Web) release(c net.Conn) {
	w.mu.Lock()
	delete(w.live, c)
	w.mu.Unlock()
	w.note(c.Close())
	w.wg.Done()
}

func (w *Web) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// at draws a delay by the two numbers of a hash: the same name and path are as
// slow in every run.
func (l Lognormal) at(hash uint64) time.Duration {
	if l.Median <= 0 {
		return 0
	}
	u := (float64(hash>>32) + 0.5) / (1 << 32)
	v := float64(hash&0xffffffff) / (1 << 32)
	normal := math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v) // Box-Muller
	return time.Duration(float64(l.Median) * math.Exp(l.Sigma*normal))
}

// sleep waits for d, or until the web closes or the client is gone.
func (w *Web) sleep(d time.Duration, gone <-chan struct{}) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-gone:
	case <-w.done:
	}
	return false
}
