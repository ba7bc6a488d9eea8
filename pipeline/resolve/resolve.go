// Package resolve looks up the addresses of hosts at recursive resolvers.
//
// It promises to tell a name that does not exist (NXDOMAIN) from one without
// an address (NODATA), and both from a resolver that could not say; to accept
// only an answer to its own question; and to bound the look-ups in flight
// and the time of each. It caches nothing: a crawl asks for a name once.
// Which addresses may be dialled is the caller's business.
package resolve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

// Defaults of Config.
const (
	// DefaultTimeout of a look-up is no shorter than a recursive resolver's
	// own, which would turn its SERVFAIL into a timeout of ours.
	DefaultTimeout  = 5 * time.Second
	DefaultInFlight = 128
)

// Config is what a Resolver needs; its zero value asks the system's
// resolvers.
type Config struct {
	Servers  []string      // host:port of recursive resolvers, the host an IP address; empty: those of /etc/resolv.conf
	Timeout  time.Duration // of one look-up, all tries together; 0: DefaultTimeout
	InFlight int           // look-ups at once, more wait; 0: DefaultInFlight
	AAAA     AAAA          // when to ask for IPv6 addresses
}

// AAAA says when a look-up asks for IPv6 addresses.
type AAAA int

const (
	// Auto asks for A and AAAA together when this machine has a route to
	// the IPv6 internet. Without one it asks for AAAA only when there is no
	// A, to tell a host that has IPv6 alone from one without an address: it
	// halves the queries, and the addresses could not be dialled.
	Auto AAAA = iota
	// Always asks for both together.
	Always
	// Never asks for A alone.
	Never
)

// Resolver looks hosts up. It is safe for concurrent use.
type Resolver struct {
	servers  []*server
	first    atomic.Uint32 // index of the server to try first: the last that was not found silent
	timeout  time.Duration
	inFlight chan struct{}
	aaaa     AAAA
}

// New returns a Resolver. It sends nothing yet.
func New(c Config) (*Resolver, error) {
	if c.Timeout < 0 || c.InFlight < 0 {
		return nil, fmt.Errorf("resolve: timeout %v and in-flight %d must not be negative", c.Timeout, c.InFlight)
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.InFlight == 0 {
		c.InFlight = DefaultInFlight
	}
	addrs := c.Servers
	if len(addrs) == 0 {
		conf, err := dns.ClientConfigFromFile("/etc/resolv.conf")
		if err != nil {
			return nil, fmt.Errorf("resolve: reading the system's resolvers: %w", err)
		}
		for _, s := range conf.Servers {
			addrs = append(addrs, net.JoinHostPort(s, conf.Port))
		}
	}
	if len(addrs) == 0 {
		return nil, errors.New("resolve: no resolver configured")
	}
	r := &Resolver{
		timeout:  c.Timeout,
		inFlight: make(chan struct{}, c.InFlight),
		aaaa:     c.AAAA,
	}
	for _, a := range addrs {
		ap, err := netip.ParseAddrPort(a)
		if err != nil {
			return nil, fmt.Errorf("resolve: resolver %q is not an IP address and port: %w", a, err)
		}
		r.servers = append(r.servers, &server{addr: ap})
	}
	if r.aaaa == Auto && hasIPv6() {
		r.aaaa = Always
	}
	return r, nil
}

// hasIPv6 says whether there is a route to the IPv6 internet. Connecting a
// UDP socket sends nothing; the address is that of a root name server.
func hasIPv6() bool {
	to := net.UDPAddrFromAddrPort(netip.MustParseAddrPort("[2001:503:ba3e::2:30]:53"))
	c, err := net.DialUDP("udp6", nil, to)
	return err == nil && c.Close() == nil
}

// Close closes the idle sockets. A look-up after it fails as Canceled.
func (r *Resolver) Close() error {
	var errs []error
	for _, s := range r.servers {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// LookupHost returns the addresses of host, IPv4 and IPv6, in the order the
// resolver gave them, CNAMEs followed; there is at least one. The error is
// an *Error. A server that is silent or cannot say is followed by the next
// one, or asked once more when it is the only one and was silent. When no
// server is there the failure is Local: no name is to blame.
func (r *Resolver) LookupHost(ctx context.Context, host string) ([]netip.Addr, error) {
	select {
	case r.inFlight <- struct{}{}:
		defer func() { <-r.inFlight }()
	case <-ctx.Done():
		return nil, &Error{Kind: Canceled, Host: host, Err: ctx.Err()}
	}
	types := []uint16{dns.TypeA, dns.TypeAAAA}
	if r.aaaa != Always {
		types = types[:1]
	}
	deadline := time.Now().Add(r.timeout)
	addrs, ferr := r.lookup(ctx, host, types, deadline)
	if ferr != nil && ferr.Kind == NoAddress && r.aaaa == Auto {
		addrs, ferr = r.lookup(ctx, host, []uint16{dns.TypeAAAA}, deadline)
	}
	if ferr != nil {
		ferr.Host = host
		return nil, ferr
	}
	return addrs, nil
}

// lookup asks for types until the deadline while nobody is there to be asked: a
// resolver that is started again is back in a moment.
func (r *Resolver) lookup(ctx context.Context, host string, types []uint16, deadline time.Time) ([]netip.Addr, *Error) {
	for {
		addrs, ferr := r.try(ctx, host, types, deadline)
		if ferr == nil || ferr.Reason != resolverGone || time.Until(deadline) < goneDelay {
			return addrs, ferr
		}
		again := time.NewTimer(goneDelay)
		select {
		case <-again.C:
		case <-ctx.Done(): // try will say so
			again.Stop()
		}
	}
}

// goneDelay is how long a server that is not there is left alone.
const goneDelay = 250 * time.Millisecond

// try asks for types, at a second server (or again) when need be.
func (r *Resolver) try(ctx context.Context, host string, types []uint16, deadline time.Time) ([]netip.Addr, *Error) {
	// A lost packet must leave time for a second try.
	half := time.Now().Add(time.Until(deadline) / 2)
	first := r.first.Load()
	addrs, ferr := r.ask(ctx, r.servers[first], host, types, half)
	if ferr == nil || ferr.Kind != Failed && ferr.Kind != Local {
		return addrs, ferr
	}
	silent := ferr.Reason == "timeout"
	next := (first + 1) % uint32(len(r.servers))
	if next == first && !silent {
		return nil, ferr // it has said that it cannot say
	}
	if silent || ferr.Reason == resolverGone {
		r.first.CompareAndSwap(first, next)
	}
	return r.ask(ctx, r.servers[next], host, types, deadline)
}

// ask asks one server for all types and makes one result of the answers.
func (r *Resolver) ask(ctx context.Context, s *server, host string, types []uint16, deadline time.Time) ([]netip.Addr, *Error) {
	answers, err := s.query(ctx, host, types, deadline)
	if err != nil {
		return nil, exchangeError(ctx, err)
	}
	var addrs []netip.Addr
	var notFound, failed *Error
	for i, m := range answers {
		if m == nil {
			failed = &Error{Kind: Failed, Reason: "timeout"}
			continue
		}
		as, ferr := read(m, host, types[i])
		switch {
		case ferr == nil:
			addrs = append(addrs, as...)
		case ferr.Kind == NotFound:
			notFound = ferr
		case ferr.Kind == Failed:
			failed = ferr
		}
	}
	switch {
	case len(addrs) > 0:
		return addrs, nil // one family is enough to go on
	case notFound != nil:
		return nil, notFound // the name has no type at all (RFC 8020)
	case failed != nil:
		return nil, failed
	}
	return nil, &Error{Kind: NoAddress, Reason: "no_address"}
}

// Confirm asks every server whether host exists. It returns how many of them
// say NXDOMAIN and how many gave an answer that says; err is why when none
// did.
func (r *Resolver) Confirm(ctx context.Context, host string) (agree, asked int, err error) {
	var errs []error
	for _, s := range r.servers {
		_, ferr := r.ask(ctx, s, host, []uint16{dns.TypeA}, time.Now().Add(r.timeout))
		switch {
		case ferr == nil || ferr.Kind == NoAddress:
			asked++
		case ferr.Kind == NotFound:
			asked++
			agree++
		default:
			ferr.Host = host
			errs = append(errs, ferr)
		}
	}
	if asked == 0 {
		return 0, 0, errors.Join(errs...)
	}
	return agree, asked, nil
}
