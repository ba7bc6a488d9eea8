package simweb

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"time"
)

// peer is one accepted connection.
type peer struct {
	net.Conn // below TLS
	web      *Web
	id       int64
	accepted time.Time
	flight   *flight
	name     string // server name of the handshake, lower case
	plan     *plan  // of that name; nil when no such host exists
}

var errPlayed = errors.New("simweb: the handshake was ended on purpose")

// serve plays one connection to its end.
func (w *Web) serve(raw *net.TCPConn) {
	defer w.release(raw)
	p := &peer{Conn: raw, web: w, accepted: w.cfg.Now()}
	at := wireOf(raw.RemoteAddr(), raw.LocalAddr())
	p.flight = w.flights.take(at, w)
	p.id = p.flight.id
	defer w.flights.drop(at)
	defer func() {
		p.flight.finish()
		p.flight.logged()
		p.logConn()
	}()

	secured, err := p.handshake()
	w.log.add(Entry{
		Kind: KindHandshake, Conn: p.id, Host: p.name, Start: p.accepted, End: p.flight.until(w.cfg.Now()),
		Remote: raw.RemoteAddr().String(), Fault: faultText(err),
	})
	if err != nil {
		if p.plan != nil && p.plan.shake == shakeClientCert {
			p.drain() // or what the client has written would reset its reading of the alert
		}
		return
	}
	p.answerAll(secured)
}

func (p *peer) logConn() {
	p.web.log.add(Entry{
		Kind: KindConn, Conn: p.id, Host: p.name, Start: p.accepted, End: p.web.cfg.Now(),
		Remote: p.RemoteAddr().String(),
	})
}

func faultText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// handshake is TLS as the named host does it.
func (p *peer) handshake() (*tls.Conn, error) {
	c := tls.Server(p.Conn, &tls.Config{
		NextProtos:             []string{"http/1.1"},
		SessionTicketsDisabled: true,
		GetConfigForClient:     p.choose,
		GetCertificate:         p.certificate,
	})
	return c, c.HandshakeContext(context.Background())
}

// choose learns the name asked for and plays what its host does at this point.
func (p *peer) choose(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	// Not at accept: of two connections raced to one host, the loser carries no
	// handshake and is no request.
	p.flight.begin(p.accepted)
	p.name = strings.ToLower(hello.ServerName)
	p.plan = p.web.plan(p.name, int(p.web.epoch.Load()))
	if p.plan == nil {
		return nil, nil // some certificate, then no such host
	}
	p.plan = p.plan.at(p.name)
	p.web.sleep(p.web.cfg.HandshakeLatency.at(p.plan.hash("handshake")), p.flight.ended)
	switch p.plan.link { // Dial did not stop it: a client that dials by itself
	case linkRefused, linkBlackHole:
		p.drain()
		return nil, errPlayed
	case linkSlow:
		if p.plan.local {
			p.web.sleep(linkTime, p.flight.ended)
		}
	}
	old := &tls.Config{GetCertificate: p.certificate, SessionTicketsDisabled: true}
	switch p.plan.shake {
	case shakeTLS10:
		old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS10
		return old, nil
	case shakeRSAKex:
		old.MaxVersion = tls.VersionTLS12
		old.CipherSuites = []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}
		return old, nil
	case shakeStall:
		p.drain()
		return nil, errPlayed
	case shakeDrip:
		// A handshake record of 16,384 bytes (RFC 8446, section 5.1) that is never whole.
		for _, err := io.WriteString(p.Conn, "\x16\x03\x03\x40\x00\x02"); err == nil && p.web.sleep(drop, p.flight.ended); {
			_, err = io.WriteString(p.Conn, "\x00")
		}
		return nil, errPlayed
	case shakeEOF:
		p.web.note(p.Conn.Close())
		return nil, errPlayed
	case shakePlain:
		return nil, p.below("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	case shakeAlert: // fatal unrecognized_name (RFC 8446, section 6), and two more
		return nil, p.below("\x15\x03\x03\x00\x02\x02\x70")
	case shakeAlertFailure:
		return nil, p.below("\x15\x03\x03\x00\x02\x02\x28")
	case shakeAlertInternal:
		return nil, p.below("\x15\x03\x03\x00\x02\x02\x50")
	case shakeLate:
		p.web.sleep(shakeTime, p.flight.ended)
	case shakeClientCert:
		// TLS 1.3: the client is done, and may write, before it learns that its
		// empty certificate is refused (RFC 8446, section 4.4.2.4).
		old.MinVersion, old.ClientAuth = tls.VersionTLS13, tls.RequireAnyClientCert
		return old, nil
	}
	return nil, nil
}

// below writes to the connection under TLS and waits for the client to go, so
// that what was written is not lost to a reset.
func (p *peer) below(s string) error {
	if _, err := io.WriteString(p.Conn, s); err != nil {
		return err
	}
	p.drain()
	return errPlayed
}

// drain reads until the client goes or the web closes.
func (p *peer) drain() {
	buf := make([]byte, 512)
	for {
		if _, err := p.Conn.Read(buf); err != nil {
			return
		}
	}
}

func (p *peer) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	name, h := strings.TrimPrefix(p.name, "www."), shakeGood
	if p.plan != nil {
		h = p.plan.shake
	}
	return p.web.issuer.leaf(name, h)
}

// readers are reused: a connection carries three requests.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4096) }}

// answerAll reads requests and plays their answers until one of the two ends
// the connection.
func (p *peer) answerAll(c *tls.Conn) {
	br := readers.Get().(*bufio.Reader)
	br.Reset(c)
	defer func() {
		br.Reset(nil)
		readers.Put(br)
	}()
	for n := 0; ; n++ {
		if n > 0 {
			if _, err := br.Peek(1); err != nil {
				return
			}
			p.flight.begin(p.web.cfg.Now())
		}
		x := &exchange{web: p.web, peer: p, conn: c}
		if err := x.read(br); err != nil {
			return
		}
		if !x.answer() {
			return
		}
	}
}

// exchange is one request and the playing of its answer.
type exchange struct {
	web  *Web
	peer *peer
	conn *tls.Conn

	line, method, target string
	path, query          string // of target
	host                 string // of the Host field, lower case
	header               http.Header
	plan                 *plan // of host

	// What the log says of the answer.
	status   int
	written  int64
	location string
	left     bool // the client went before its answer was whole
}

func (x *exchange) read(br *bufio.Reader) error {
	tp := textproto.NewReader(br)
	line, err := tp.ReadLine()
	if err != nil {
		return err
	}
	h, err := tp.ReadMIMEHeader()
	if err != nil {
		return err
	}
	x.line, x.header = line, http.Header(h)
	x.method, line, _ = strings.Cut(line, " ")
	x.target, _, _ = strings.Cut(line, " ")
	x.path, x.query, _ = strings.Cut(x.target, "?")
	x.host = strings.ToLower(x.header.Get("Host"))
	if p := x.web.plan(x.host, int(x.web.epoch.Load())); p != nil {
		x.plan = p.at(x.host)
	}
	return nil
}

// answer plays the answer, logs the request and says whether the connection
// goes on.
func (x *exchange) answer() bool {
	received := x.web.cfg.Now()
	verdict := ""
	if x.web.cfg.Verify != nil {
		if verdict = x.web.cfg.Verify(x.method, x.host, x.target, x.header, received); verdict == "" {
			verdict = "ok"
		}
	}
	b := x.web.catalogue["unknown_host"]
	if x.plan != nil {
		b = x.plan.answer(x.host, x.path)
		delay := x.web.cfg.Latency.at(x.plan.hash(x.target))
		x.web.sleep(delay, x.peer.flight.ended)
	}
	keep := x.play(b)
	start, end := x.peer.flight.finish()
	e := Entry{
		Kind: KindRequest, Conn: x.peer.id, Host: x.peer.name, Origin: "https://" + x.host,
		Method: x.method, Path: x.target, Line: x.line, Header: x.header,
		Start: start, End: end, Left: x.left, Status: x.status, Bytes: x.written, Location: x.location,
		Signature: verdict, Remote: x.peer.RemoteAddr().String(),
	}
	if x.plan != nil {
		if _, moved := x.plan.moved(x.host, x.path); !moved {
			e.Denies = b.denied()
			e.Closes = b.closes() || b.custom && e.Status >= 300 && e.Status < 400 && target(e) == ""
		}
	}
	x.web.log.add(e)
	x.peer.flight.logged()
	return keep && !strings.EqualFold(x.header.Get("Connection"), "close")
}

// play is the redirect of a moved site, the behaviour's own play, or its plain
// answer.
func (x *exchange) play(b *behaviour) bool {
	if x.plan != nil {
		if to, ok := x.plan.moved(x.host, x.path); ok {
			x.location = "https://" + to + x.target
			return x.reply(301, "Content-Type: text/html\r\nLocation: "+x.location+"\r\n", []byte(movedPage))
		}
	}
	if b.play != nil {
		return b.play(x)
	}
	var body []byte
	if b.body != nil {
		body = b.body(x.plan, x.host, x.path)
	}
	return x.reply(b.status, b.header, body)
}

// reply writes a whole answer with its length.
func (x *exchange) reply(status int, header string, body []byte) bool {
	x.status = status
	out := append(x.head(status, header), "Content-Length: "...)
	out = strconv.AppendInt(out, int64(len(body)), 10)
	out = append(out, "\r\n\r\n"...)
	if x.method != "HEAD" {
		out = append(out, body...)
	}
	return x.last(out)
}

// head is the status line and header section of an answer, without the blank
// line that ends it.
func (x *exchange) head(status int, header string) []byte {
	x.status = status
	out := make([]byte, 0, 512)
	out = append(out, "HTTP/1.1 "...)
	out = strconv.AppendInt(out, int64(status), 10)
	out = append(out, ' ')
	out = append(out, http.StatusText(status)...)
	out = append(out, "\r\nDate: "...)
	out = x.web.cfg.Now().UTC().AppendFormat(out, http.TimeFormat)
	out = append(out, "\r\n"...)
	return append(out, header...)
}

// some writes a part of an answer that is not the last.
func (x *exchange) some(b []byte) bool {
	x.left = !x.write(b)
	return !x.left
}

func (x *exchange) write(b []byte) bool {
	n, err := x.conn.Write(b)
	x.written += int64(n)
	return err == nil
}

// last ends the request at the gauge and writes the rest of the answer.
func (x *exchange) last(b []byte) bool {
	x.peer.flight.finish()
	return x.write(b)
}

// hang keeps the connection open in silence until the client goes.
func (x *exchange) hang() bool {
	buf := make([]byte, 256)
	for {
		if _, err := x.conn.Read(buf); err != nil {
			x.left = true
			return false
		}
	}
}

// drip writes piece again and again, with a pause, until the client goes.
func (x *exchange) drip(piece string, pause time.Duration) bool {
	for x.some([]byte(piece)) {
		if !x.web.sleep(pause, x.peer.flight.ended) {
			return false
		}
	}
	return false
}

// reset ends the connection by RST: pending data is thrown away.
func (x *exchange) reset() bool {
	if t, ok := x.peer.Conn.(*net.TCPConn); ok {
		x.web.note(t.SetLinger(0))
		x.peer.flight.finish()
		x.web.note(t.Close())
	}
	return false
}

// hangUp ends the connection in order, without closing TLS.
func (x *exchange) hangUp() bool {
	x.peer.flight.finish()
	return false
}
