package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

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
		if err != nil || checkHostPort(a.connectTo) != nil {
			return w, usagef("--connect-to %q: write HOST:PORT, or :PORT to change the port alone", a.connectTo)
		}
		w.dial = w.dialOther(host, port)
	}
	return w, nil
}

// dialOther connects to host, or to the address asked for when it is "", at
// another port. With the port alone changed no address but an allowed one is
// dialled: strangers are asked at port 443 alone (P2).
func (w web) dialOther(host, port string) func(context.Context, netip.AddrPort, string) (net.Conn, error) {
	return func(ctx context.Context, addr netip.AddrPort, _ string) (net.Conn, error) {
		to := host
		if host == "" {
			to = addr.Addr().String()
			if !slices.ContainsFunc(w.allow, func(p netip.Prefix) bool { return p.Contains(addr.Addr()) }) {
				refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
				return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(addr), Err: refused}
			}
		}
		var d net.Dialer
		return d.DialContext(ctx, "tcp", net.JoinHostPort(to, port))
	}
}

// private says whether nothing can reach the public internet: every
// connection and every DNS query is diverted to loopback.
func (a aids) private(resolvers []string) bool {
	if a.connectTo == "" || len(resolvers) == 0 {
		return false
	}
	for _, server := range append([]string{a.connectTo}, resolvers...) {
		host, _, err := net.SplitHostPort(server)
		if err != nil || host != "" && !isLoopback(host) {
			return false
		}
	}
	if !strings.HasPrefix(a.connectTo, ":") {
		return true
	}
	for _, text := range a.allow { // those alone are dialled
		if p, err := netip.ParsePrefix(text); err != nil || !loopbackAlone(p) {
			return false
		}
	}
	return true
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

// loopbackAlone says whether all addresses of p are loopback ones (RFC 1122
// section 3.2.1.3, RFC 4291 section 2.5.3).
func loopbackAlone(p netip.Prefix) bool {
	return p.Addr().IsLoopback() && p.Bits() >= 8 && (p.Addr().Is4() || p.Bits() == 128)
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
