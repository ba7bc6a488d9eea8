package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
)

const (
	// attemptDelay is how long an attempt may be silent before the next
	// address is tried beside it (RFC 8305 section 5: 250 ms).
	attemptDelay = 250 * time.Millisecond
	// maxAttempts bounds the addresses tried, of hosts that list hundreds.
	maxAttempts = 8
)

// interleave puts addrs in the order of RFC 8305 section 4: the families in
// turn, IPv6 first, each in the resolver's order.
func interleave(addrs []netip.Addr) []netip.Addr {
	var six, four []netip.Addr
	for _, a := range addrs {
		if a.Is4() || a.Is4In6() {
			four = append(four, a)
		} else {
			six = append(six, a)
		}
	}
	out := make([]netip.Addr, 0, len(addrs))
	for len(out) < len(addrs) {
		if len(six) > 0 {
			out, six = append(out, six[0]), six[1:]
		}
		if len(four) > 0 {
			out, four = append(out, four[0]), four[1:]
		}
	}
	return out
}

// dial connects to the first address of host that answers. When it returns,
// every other attempt has ended and is closed. ctx must have the deadline of
// the request.
func (c *Client) dial(ctx context.Context, host string, addrs []netip.Addr) (net.Conn, *Error) {
	order := interleave(addrs)
	if len(order) > maxAttempts {
		order = order[:maxAttempts]
	}
	if len(order) == 1 {
		conn, err := c.attempt(ctx, host, order[0])
		if err != nil {
			return nil, c.verdict([]attemptError{{order[0], err}})
		}
		return conn, nil
	}

	type result struct {
		addr netip.Addr
		conn net.Conn
		err  error
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	results := make(chan result, len(order))
	next, pending := 0, 0
	launch := func() {
		a := order[next]
		next++
		pending++
		go func() {
			conn, err := c.attempt(ctx, host, a)
			results <- result{a, conn, err}
		}()
	}
	launch()
	timer := time.NewTimer(attemptDelay)
	defer timer.Stop()
	var failed []attemptError
	for pending > 0 {
		select {
		case <-timer.C:
			if next < len(order) {
				launch()
				timer.Reset(attemptDelay)
			}
		case r := <-results:
			pending--
			if r.err == nil {
				stop()
				for ; pending > 0; pending-- {
					if late := <-results; late.err == nil {
						_ = late.conn.Close() // nothing was written to it
					}
				}
				return r.conn, nil
			}
			failed = append(failed, attemptError{r.addr, r.err})
			if _, local := localFault(r.err, r.addr); local || ctx.Err() != nil {
				next = len(order)
			}
			if next < len(order) {
				launch()
				timer.Reset(attemptDelay)
			}
		}
	}
	return nil, c.verdict(failed)
}

// dialWith connects as d does.
func dialWith(d *net.Dialer) func(context.Context, netip.AddrPort, string) (net.Conn, error) {
	return func(ctx context.Context, addr netip.AddrPort, _ string) (net.Conn, error) {
		conn, err := d.DialTCP(ctx, "tcp", netip.AddrPort{}, addr)
		if err != nil { // conn is a nil of its own type, which would be no nil net.Conn
			return nil, err
		}
		return conn, nil
	}
}

// attempt asks the guard and connects to one address.
func (c *Client) attempt(ctx context.Context, host string, a netip.Addr) (net.Conn, error) {
	if err := c.guard.check(a); err != nil {
		return nil, fail(PrivateAddress, "private", err)
	}
	return c.dialFunc(ctx, netip.AddrPortFrom(a, 443), host)
}

// attemptError is why one address could not be connected to.
type attemptError struct {
	addr netip.Addr
	err  error
}

// verdict makes one error of those of all addresses: a fault of ours before
// all else, then what the most patient attempt met.
func (c *Client) verdict(failed []attemptError) *Error {
	var timeout, refused, unreachable, private *Error
	netDown := true // every address had no route
	for _, f := range failed {
		if reason, ok := localFault(f.err, f.addr); ok {
			return fail(Local, reason, f.err)
		}
		var own *Error
		switch {
		case errors.As(f.err, &own) && own.Kind == PrivateAddress:
			private = own
			netDown = false
		case isTimeout(f.err) || errors.Is(f.err, syscall.ETIMEDOUT):
			timeout = fail(Timeout, "connect", f.err)
			netDown = false
		case errors.Is(f.err, syscall.ECONNREFUSED), errors.Is(f.err, syscall.ECONNRESET):
			refused = fail(ConnectRefused, "refused", f.err)
			netDown = false
		default:
			unreachable = fail(ConnectRefused, "unreachable", f.err)
			netDown = netDown && errors.Is(f.err, syscall.ENETUNREACH)
		}
	}
	switch {
	case timeout != nil:
		return timeout
	case refused != nil:
		return refused
	case unreachable != nil && netDown && !c.online():
		// The same errno comes from a router far away, which must not stop
		// a crawl: only a machine without any route has lost its network.
		return fail(Local, "no_route", unreachable.Err)
	case unreachable != nil:
		return unreachable
	}
	return private
}

// localFault recognises what only this machine can be blamed for. An IPv6
// address that cannot be left from is no such fault: the machine has no
// IPv6.
func localFault(err error, to netip.Addr) (reason string, ok bool) {
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too_many_files", true
	case errors.Is(err, syscall.ENOBUFS):
		return "no_buffers", true
	case errors.Is(err, syscall.ENOMEM):
		return "no_memory", true
	case errors.Is(err, syscall.EADDRNOTAVAIL) && to.Is4():
		return "no_ports", true
	}
	return "", false
}

// isTimeout says whether err is an expired deadline, of a socket or of a
// context.
func isTimeout(err error) bool {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}
