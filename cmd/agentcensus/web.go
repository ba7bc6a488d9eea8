package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"agentcensus/pipeline/fetch"
	"agentcensus/pipeline/resolve"
)

// requestTimeout is promise P7.
const requestTimeout = fetch.DefaultTimeout

// aids divert requests to servers of one's own.
type aids struct {
	caFile, connectTo string
	allow             []string
}

// web is what requests go through: the real web, servers of one's own, or
// the simulated one.
type web struct {
	dial      func(ctx context.Context, addr netip.AddrPort, host string) (net.Conn, error)
	roots     *x509.CertPool
	allow     []netip.Prefix
	resolvers []string
}

// divert makes the web that the aids describe. Its dial is nil unless
// connections are diverted.
func (a aids) divert(resolvers []string) (web, error) {
	w := web{resolvers: resolvers}
	for _, r := range resolvers {
		if _, _, err := net.SplitHostPort(r); err != nil {
			return w, usagef("--resolver %q: write HOST:PORT, such as 127.0.0.1:53", r)
		}
	}
	for _, text := range a.allow {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return w, usagef("--allow-address %q: write a CIDR, such as 127.0.0.0/8", text)
		}
		w.allow = append(w.allow, p.Masked())
	}
	if a.caFile != "" {
		pem, err := os.ReadFile(a.caFile)
		if err != nil {
			return w, usagef("--ca-file: %w", err)
		}
		w.roots = x509.NewCertPool()
		if !w.roots.AppendCertsFromPEM(pem) {
			return w, usagef("--ca-file %s: no PEM certificate in it", a.caFile)
		}
	}
	if a.connectTo != "" {
		host, port, err := net.SplitHostPort(a.connectTo)
		if err != nil || port == "" {
			return w, usagef("--connect-to %q: write HOST:PORT, or :PORT to change the port alone", a.connectTo)
		}
		w.dial = func(ctx context.Context, addr netip.AddrPort, _ string) (net.Conn, error) {
			to := net.JoinHostPort(host, port)
			if host == "" {
				to = net.JoinHostPort(addr.Addr().String(), port)
			}
			var d net.Dialer
			return d.DialContext(ctx, "tcp", to)
		}
	}
	return w, nil
}

// private says whether nothing can reach the public internet: every
// connection and every DNS query is diverted to loopback.
func (a aids) private(resolvers []string) bool {
	host, _, err := net.SplitHostPort(a.connectTo)
	if err != nil || len(resolvers) == 0 {
		return false
	}
	if host == "" { // the address stays: only allowed loopback ones are safe
		return false
	}
	for _, r := range append([]string{net.JoinHostPort(host, "0")}, resolvers...) {
		h, _, err := net.SplitHostPort(r)
		if err != nil {
			return false
		}
		if ip, err := netip.ParseAddr(h); !strings.EqualFold(h, "localhost") && (err != nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}

// exchange is the fetch client of a crawl with what it was made from.
type exchange struct {
	client   *fetch.Client
	resolver *resolve.Resolver
	slots    *slots
}

// slots are the places for requests in flight (P4), counted.
type slots struct {
	places *semaphore.Weighted
	taken  atomic.Int64
}

func (s *slots) Acquire(ctx context.Context, n int64) error {
	if err := s.places.Acquire(ctx, n); err != nil {
		return err
	}
	s.taken.Add(n)
	return nil
}

func (s *slots) Release(n int64) {
	s.taken.Add(-n)
	s.places.Release(n)
}

func (s *slots) inFlight() int64 { return s.taken.Load() }

// open makes the exchange. It must be closed.
func (w web) open(userAgent string, signer fetch.Signer, inFlight int, observe func(fetch.Event)) (*exchange, error) {
	r, err := resolve.New(resolve.Config{Servers: w.resolvers, Timeout: requestTimeout, InFlight: 4 * inFlight})
	if err != nil {
		return nil, usagef("set up DNS: %w", err)
	}
	places := &slots{places: semaphore.NewWeighted(int64(inFlight))}
	c, err := fetch.New(fetch.Config{
		UserAgent: userAgent, Signer: signer, Resolver: r, Slots: places,
		Dial: w.dial, Allow: w.allow, RootCAs: w.roots,
		Timeout: requestTimeout, Observe: observe,
	})
	if err != nil {
		return nil, fmt.Errorf("set up requests: %w", err)
	}
	return &exchange{c, r, places}, nil
}

func (e *exchange) close() error { return e.resolver.Close() }
