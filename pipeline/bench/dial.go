package bench

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

// dialer connects one client to the web of its Reach.
type dialer struct {
	Reach
	hung hung
}

// connect dials an address of host.
func (d *dialer) connect(ctx context.Context, addr netip.AddrPort, host string) (net.Conn, error) {
	if d.dead(host) {
		return nil, d.hang(ctx, host)
	}
	var nd net.Dialer
	return nd.DialContext(ctx, "tcp", netip.AddrPortFrom(addr.Addr(), uint16(d.Port)).String())
}

// named is net/http's DialContext: it looks the host up as Go does.
func (d *dialer) named() func(ctx context.Context, network, address string) (net.Conn, error) {
	nd := net.Dialer{Timeout: requestTimeout, Resolver: &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var nd net.Dialer
			return nd.DialContext(ctx, network, d.Resolvers[0])
		},
	}}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		if d.dead(host) {
			return nil, d.hang(ctx, host)
		}
		// The dot keeps the search list of resolv.conf out.
		return nd.DialContext(ctx, network, net.JoinHostPort(host+".", strconv.Itoa(d.Port)))
	}
}

// hang waits as a dial does to which nothing answers.
func (d *dialer) hang(ctx context.Context, host string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	d.hung.begin(host, time.Now())
	<-ctx.Done()
	d.hung.end(host, time.Now())
	return ctx.Err()
}

// hung adds up how long dials hung, which a request does while it holds a
// slot. No client has two requests to a host in flight, so that several
// attempts at a host at once (RFC 8305) belong to one slot: their time counts
// once.
type hung struct {
	mu   sync.Mutex
	open map[string]attempts // by host
	sum  time.Duration       // of hosts no longer open
}

// attempts are those at one host that hang.
type attempts struct {
	n     int
	since time.Time // the first began
}

func (h *hung) begin(host string, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		h.open = map[string]attempts{}
	}
	a := h.open[host]
	if a.n == 0 {
		a.since = at
	}
	a.n++
	h.open[host] = a
}

func (h *hung) end(host string, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.open[host]
	if a.n--; a.n > 0 {
		h.open[host] = a
		return
	}
	delete(h.open, host)
	h.sum += at.Sub(a.since)
}

// until is the sum up to a moment, with what dials that still hang have so
// far.
func (h *hung) until(at time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	sum := h.sum
	for _, a := range h.open {
		sum += at.Sub(a.since)
	}
	return sum
}
