package fetch

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

const (
	// headerLimit is the most bytes of header one response may have, its
	// status line included. A 1xx response has a limit of its own.
	headerLimit = 64 << 10
	// maxInterim is how many 1xx responses may precede the answer.
	maxInterim = 8
	// redirectBody is the most of a redirect's body that is read to keep
	// the connection.
	redirectBody = 64 << 10
)

// conn is a connection to the origin of host.
type conn struct {
	host string
	wire *wire
	tls  *tls.Conn
	used bool // it has carried an answer
}

// close closes the TCP side: TLS would write an alert first, and may wait
// for that.
func (cn *conn) close() {
	_ = cn.wire.Conn.Close() // nothing is owed to the peer
}

// alive says whether a kept connection can carry another request: the peer
// has sent nothing, neither bytes nor an end. The peek goes through TLS, as
// the socket alone cannot tell a session ticket from a close_notify. The
// deadline must be set before: an expired one reads as alive.
func (cn *conn) alive() bool {
	cn.wire.probing = true
	defer func() { cn.wire.probing = false }()
	var b [1]byte
	n, err := cn.tls.Read(b[:])
	return n == 0 && errors.Is(err, wouldBlock{})
}

// source is the plaintext of a connection. While it is shut it gives
// nothing: a header that was received whole is parsed from the buffer alone.
type source struct {
	tls   *tls.Conn
	shut  bool
	ended bool // the peer sent no more
}

var errPastHeader = errors.New("header goes on after its end")

func (s *source) Read(p []byte) (int, error) {
	if s.shut {
		return 0, errPastHeader
	}
	n, err := s.tls.Read(p)
	s.ended = s.ended || errors.Is(err, io.EOF)
	return n, err
}

// reply is a response as it came.
type reply struct {
	status  int
	header  http.Header
	codings []string
	whole   bool // the coded body is whole
	keep    bool // the connection can carry another request
}

// roundTrip writes req on cn and reads its answer, the coded body into buf.
// The reply is not nil as soon as a final status came, also with an error.
func (c *Client) roundTrip(cn *conn, req *http.Request, maxBody int64, buf *[]byte) (*reply, *Error) {
	bw := c.buffers.writer(cn.tls)
	err := req.Write(bw)
	if err == nil {
		err = bw.Flush()
	}
	c.buffers.putWriter(bw)
	if err != nil {
		return nil, cn.ioError(err, "headers")
	}

	src := &source{tls: cn.tls}
	br := c.buffers.reader(src)
	defer c.buffers.putReader(br)
	for range maxInterim + 1 {
		resp, strict, err := readHeader(br, src, req)
		var bad *statusError
		var own *Error
		switch {
		case errors.As(err, &bad):
			return &reply{status: bad.code}, fail(ProtocolError, "status", bad)
		case errors.As(err, &own):
			return nil, own
		case err != nil:
			return nil, cn.ioError(err, "headers")
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return &reply{status: resp.StatusCode}, fail(ProtocolError, "upgrade", nil)
		case resp.StatusCode >= 200:
			return cn.readBody(br, src, resp, strict, maxBody, buf)
		}
	}
	return nil, fail(ProtocolError, "too_many_1xx", nil)
}

// readHeader reads one response header. strict says that the framing of its
// body is beyond doubt. Errors of the connection come as they are.
func readHeader(br *bufio.Reader, src *source, req *http.Request) (resp *http.Response, strict bool, err error) {
	head, err := bufferHeader(br)
	if err != nil {
		return nil, false, err
	}
	if err := checkStatusLine(head); err != nil {
		return nil, false, err
	}
	f := framingOf(head)
	src.shut = true
	resp, err = http.ReadResponse(br, req)
	src.shut = false
	var malformed textproto.ProtocolError
	switch {
	case err == nil:
		// Both may be an attempt at smuggling (RFC 9112 section 6.3).
		return resp, !(f.chunked && f.length), nil
	case errors.As(err, &malformed), errors.Is(err, errPastHeader), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, false, fail(ProtocolError, "malformed", err)
	case f.coded:
		return nil, false, fail(ProtocolError, "transfer_encoding", err)
	case f.length:
		return nil, false, fail(ProtocolError, "content_length", err)
	}
	return nil, false, fail(ProtocolError, "malformed", err)
}

// bufferHeader waits until the buffer holds a whole header and returns it.
// What is no HTTP/1 at all is recognised by its first bytes.
func bufferHeader(br *bufio.Reader) ([]byte, error) {
	const start = "HTTP/1."
	for seen := 0; ; {
		b, err := br.Peek(br.Buffered())
		if err != nil {
			return nil, err
		}
		if n := min(len(b), len(start)); string(b[:n]) != start[:n] {
			return nil, fail(ProtocolError, "malformed", errors.New("answer is not HTTP/1"))
		}
		if end := headerEnd(b, seen); end > 0 {
			return b[:end], nil
		}
		if len(b) == br.Size() {
			return nil, fail(ProtocolError, "headers_too_large", nil)
		}
		seen = len(b)
		if _, err := br.Peek(len(b) + 1); err != nil {
			return nil, err
		}
	}
}

// headerEnd returns the length of the header that b begins with, 0 when its
// empty line is not there. The first seen bytes were searched before.
func headerEnd(b []byte, seen int) int {
	for i := max(0, seen-2); ; i++ {
		n := bytes.IndexByte(b[i:], '\n')
		if n < 0 {
			return 0
		}
		i += n
		switch {
		case bytes.HasPrefix(b[i+1:], []byte("\n")):
			return i + 2
		case bytes.HasPrefix(b[i+1:], []byte("\r\n")):
			return i + 3
		}
	}
}

// checkStatusLine refuses what http.ReadResponse lets pass: status codes
// that no answer can have (RFC 9110 section 15).
func checkStatusLine(head []byte) error {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	version, rest, _ := strings.Cut(strings.TrimSuffix(string(line), "\r"), " ")
	code, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	if len(version) != len("HTTP/1.1") || len(code) != 3 {
		return fail(ProtocolError, "malformed", errors.New("malformed status line"))
	}
	for i := range len(code) {
		if code[i] < '0' || code[i] > '9' {
			return fail(ProtocolError, "malformed", errors.New("malformed status code"))
		}
	}
	if code[0] < '1' || code[0] > '5' {
		n, err := strconv.Atoi(code)
		if err != nil {
			return fail(ProtocolError, "malformed", err)
		}
		return &statusError{n}
	}
	return nil
}

// statusError is a status code of three digits that no answer can have.
type statusError struct{ code int }

func (e *statusError) Error() string { return fmt.Sprintf("status code %03d", e.code) }

// framing is what a header says of its body's end; http.ReadResponse drops
// the half it does not use.
type framing struct {
	length  bool // Content-Length
	chunked bool // Transfer-Encoding: chunked
	coded   bool // any other Transfer-Encoding, or several
}

func framingOf(head []byte) (f framing) {
	for line := range bytes.Lines(head) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		switch {
		case !ok:
		case len(name) == len("Content-Length") && strings.EqualFold(string(name), "Content-Length"):
			f.length = true
		case len(name) == len("Transfer-Encoding") && strings.EqualFold(string(name), "Transfer-Encoding"):
			if f.chunked || !strings.EqualFold(string(bytes.TrimSpace(value)), "chunked") {
				f.coded = true
			}
			f.chunked = true
		}
	}
	return f
}

// readBody reads the body of resp into buf and says whether the connection
// can be kept.
func (cn *conn) readBody(br *bufio.Reader, src *source, resp *http.Response, strict bool, maxBody int64, buf *[]byte) (*reply, *Error) {
	r := &reply{status: resp.StatusCode, header: resp.Header}
	redirect := isRedirect(resp.StatusCode)
	if redirect {
		maxBody = min(maxBody, redirectBody)
	}
	cs, codingErr := codings(resp.Header)
	coded, cs, whole, err := readCoded((*buf)[:0], resp.Body, cs, maxBody)
	*buf = coded
	r.codings, r.whole = cs, whole
	chunked := len(resp.TransferEncoding) > 0
	if err == nil && whole && !chunked && resp.ContentLength < 0 && cn.wire.ended {
		// Only a closure alert tells the end of such a body from a cut
		// (RFC 9112 section 9.8).
		err = io.ErrUnexpectedEOF
	}
	switch {
	case err != nil && redirect, codingErr != nil && redirect:
		// Where it leads is known from the header; its body is of no use.
		*buf, r.codings, r.whole = coded[:0], nil, true
		return r, nil
	case err != nil && chunked && isFraming(err) && !src.ended:
		return r, fail(ProtocolError, "transfer_encoding", err)
	case err != nil:
		return r, cn.ioError(err, "body")
	case codingErr != nil && len(coded) > 0:
		*buf = coded[:0] // nobody knows what they decode to
		return r, fail(ProtocolError, "content_encoding", codingErr)
	}
	r.keep = whole && strict && !resp.Close && br.Buffered() == 0
	return r, nil
}

// connect dials one of addrs and does the handshake for host, both before
// the deadline.
func (c *Client) connect(ctx context.Context, host string, addrs []netip.Addr, deadline time.Time) (*conn, *Error) {
	dialCtx, cancel := context.WithTimeout(ctx, c.connectTimeout)
	defer cancel()
	tcp, ferr := c.dial(dialCtx, host, addrs)
	if ferr != nil {
		if err := ctx.Err(); err != nil {
			return nil, fail(Canceled, "", err)
		}
		return nil, ferr
	}
	w := newWire(tcp)
	conf := c.tls.Clone()
	conf.ServerName = host
	cn := &conn{host: host, wire: w, tls: tls.Client(w, conf)}
	if err := w.SetDeadline(deadline); err != nil {
		cn.close()
		return nil, fail(ConnectionLost, "reset", err)
	}
	release := interruptible(ctx, w)
	err := cn.tls.Handshake()
	switch unharmed := release(); {
	case !unharmed:
		cn.close()
		return nil, fail(Canceled, "", ctx.Err())
	case err != nil:
		cn.close()
		return nil, cn.handshakeError(err)
	}
	return cn, nil
}

// interruptible lets the end of ctx end a wait on w. What it returns must be
// called when the wait is over and says whether w is unharmed.
func interruptible(ctx context.Context, w *wire) (release func() bool) {
	if ctx.Done() == nil {
		return func() bool { return true }
	}
	return context.AfterFunc(ctx, func() {
		_ = w.SetDeadline(time.Unix(1, 0)) // fails only on a closed connection
	})
}
