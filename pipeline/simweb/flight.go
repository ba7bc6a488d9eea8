package simweb

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// flight is the request that is open on one connection, known to both of its
// ends: the server opens it, and whichever comes first ends it, the server
// before its last write or the client by closing. Without the client's end a
// request that a crawler gave up would seem to overlap the next one.
type flight struct {
	id  int64 // number of the connection
	log *journal
	now func() time.Time

	mu    sync.Mutex
	open  bool
	owed  bool      // the log has yet to be told
	gone  bool      // the client has closed
	left  time.Time // when it did
	start time.Time
	end   time.Time
	ended chan struct{} // closed when the client closes
}

// begin opens a request that started at t, unless the client is gone.
func (f *flight) begin(t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.start, f.end = t, t
	if f.gone || f.open {
		return
	}
	f.open, f.owed = true, true
	f.log.pending.Add(1)
	f.log.enter()
}

// finish ends the request, if it is open, and says when it ran.
func (f *flight) finish() (start, end time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leave()
	return f.start, f.end
}

func (f *flight) leave() {
	if !f.open {
		return
	}
	f.open, f.end = false, f.now()
	f.log.leave(f.end.Sub(f.start))
}

// until is t, or when the client closed if that was before: the server notices
// it late.
func (f *flight) until(t time.Time) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone && f.left.Before(t) {
		return f.left
	}
	return t
}

// logged says that the log has the request now.
func (f *flight) logged() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owed {
		f.owed = false
		f.log.pending.Add(-1)
	}
}

// hangUp is the client's close.
func (f *flight) hangUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.gone {
		f.gone, f.left = true, f.now()
		close(f.ended)
	}
	f.leave()
}

// wire names a TCP connection by its two ends.
type wire struct{ client, server netip.AddrPort }

// flights finds the flight of a connection from either end. Dial takes one right
// after connecting; the server takes it at accept and drops it when it is done,
// which is never before the client has sent something or closed.
type flights struct {
	mu   sync.Mutex
	open map[wire]*flight
}

func (fs *flights) take(w wire, web *Web) *flight {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.open[w]
	if f == nil {
		f = &flight{id: web.conns.Add(1), log: &web.log, now: web.cfg.Now, ended: make(chan struct{})}
		fs.open[w] = f
	}
	return f
}

func (fs *flights) drop(w wire) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	delete(fs.open, w)
}

// clientConn is what Web.Dial gives: a TCP connection whose Close ends its
// request at the server's gauge first.
type clientConn struct {
	*net.TCPConn
	flight *flight
}

func (c *clientConn) Close() error {
	c.flight.hangUp()
	return c.TCPConn.Close()
}

func wireOf(client, server net.Addr) wire {
	return wire{client: addrPort(client), server: addrPort(server)}
}

func addrPort(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		p := t.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
	}
	return netip.AddrPort{}
}
