package fetch

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// wire is the TCP side of a connection, below TLS. It can be probed without
// waiting, and remembers what TLS does not tell.
type wire struct {
	net.Conn
	raw     syscall.RawConn // nil when the connection has none
	probing bool

	written int64 // bytes
	ended   bool  // the peer's FIN was read
	alert   byte  // description of the last alert sent in the clear
}

func newWire(c net.Conn) *wire {
	w := &wire{Conn: c}
	if sc, ok := c.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			w.raw = raw
		}
	}
	return w
}

// wouldBlock is what a probe reads on a quiet connection. TLS takes a
// temporary error for what it is and can go on after it.
type wouldBlock struct{}

func (wouldBlock) Error() string   { return "nothing to read" }
func (wouldBlock) Timeout() bool   { return true }
func (wouldBlock) Temporary() bool { return true }

// Read reads from the peer; while probing it does not wait.
func (w *wire) Read(p []byte) (n int, err error) {
	switch {
	case !w.probing:
		n, err = w.Conn.Read(p)
	case w.raw != nil:
		n, err = readNow(w.raw, p)
	default:
		n, err = w.readBriefly(p)
	}
	if err == io.EOF {
		w.ended = true
	}
	return n, err
}

// readBriefly is the probe of a connection without a socket.
func (w *wire) readBriefly(p []byte) (int, error) {
	if err := w.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return 0, err
	}
	n, err := w.Conn.Read(p)
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, wouldBlock{}
	}
	return n, err
}

// Write writes to the peer and notes alerts: the one TLS sends in the clear
// says more precisely than its error why a handshake was given up.
func (w *wire) Write(p []byte) (int, error) {
	// A record: type 21, version, length 2; level, description (RFC 8446
	// sections 5.1 and 6).
	if len(p) == 7 && p[0] == 21 && p[3] == 0 && p[4] == 2 {
		w.alert = p[6]
	}
	n, err := w.Conn.Write(p)
	w.written += int64(n)
	return n, err
}
