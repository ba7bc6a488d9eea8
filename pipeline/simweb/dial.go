package simweb

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// Dial connects as a crawler would to addr for host, in [Public] mode: it logs
// the address it was given, plays refused connections and black holes, and
// diverts the rest to the web's listeners. No address is ever really dialled.
func (w *Web) Dial(ctx context.Context, addr netip.AddrPort, host string) (net.Conn, error) {
	e := Entry{Kind: KindDial, Host: host, Addr: addr.String(), Start: w.cfg.Now()}
	c, err := w.divert(ctx, addr, host)
	e.End = w.cfg.Now()
	if err != nil {
		e.Fault = err.Error()
		w.log.add(e)
		return nil, err
	}
	e.Conn, e.Remote = c.flight.id, c.LocalAddr().String()
	w.log.add(e)
	return c, nil
}

func (w *Web) divert(ctx context.Context, addr netip.AddrPort, host string) (*clientConn, error) {
	fail := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(addr), Err: err}
	}
	refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	p := w.plan(host, int(w.epoch.Load()))
	if p == nil || !public(addr.Addr()) || addr.Port() != 443 {
		return nil, fail(refused)
	}
	p = p.at(host)
	switch {
	case p.link == linkRefused:
		return nil, fail(refused)
	case p.link == linkBlackHole, p.dns.brokenV6 && addr.Addr().Is6():
		start := time.Now()
		select {
		case <-ctx.Done():
			w.log.blockedTime.Add(int64(time.Since(start)))
			return nil, fail(ctx.Err())
		case <-w.done:
			return nil, fail(fmt.Errorf("the simulated web is closed: %w", syscall.ENETUNREACH))
		}
	case p.link == linkSlow && !w.sleep(linkTime, ctx.Done()):
		return nil, fail(cmp.Or(ctx.Err(), error(syscall.ENETUNREACH)))
	}
	to := w.listen[p.seed%uint64(len(w.listen))].Addr()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp4", to.String())
	if err != nil {
		return nil, err
	}
	tcp := c.(*net.TCPConn)
	return &clientConn{TCPConn: tcp, flight: w.flights.take(wireOf(tcp.LocalAddr(), tcp.RemoteAddr()), w)}, nil
}
