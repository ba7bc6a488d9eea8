package resolve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
)

const (
	// payload is the largest UDP answer asked for: it passes every path
	// without fragments (DNS Flag Day 2020).
	payload = 1232
	// queriesPerSocket is how long a source port is used: few system calls
	// a look-up, and yet a port that cannot be learned.
	queriesPerSocket = 64
	// maxIdle is how many sockets are kept a server.
	maxIdle = 64
	// maxChain is how many CNAMEs are followed.
	maxChain = 16
	// resolutionDelay is how long the answer for one family waits for the
	// other's (RFC 8305 section 3 has 50 ms where a person waits).
	resolutionDelay = 250 * time.Millisecond
)

// server is one recursive resolver and the idle sockets to it.
type server struct {
	addr netip.AddrPort

	mu     sync.Mutex
	idle   []*socket
	closed bool
}

// socket is a connected UDP socket: the kernel drops what comes from
// elsewhere. One look-up at a time uses it.
type socket struct {
	conn *net.UDPConn
	left int // queries until its port is given up
	buf  [payload]byte
}

// get returns a socket for n queries.
func (s *server) get(n int) (*socket, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, net.ErrClosed
	}
	if last := len(s.idle) - 1; last >= 0 {
		k := s.idle[last]
		s.idle = s.idle[:last]
		s.mu.Unlock()
		k.left -= n
		return k, nil
	}
	s.mu.Unlock()
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(s.addr))
	if err != nil {
		return nil, err
	}
	return &socket{conn: conn, left: queriesPerSocket - n}, nil
}

// put takes a socket back. One that had an error may still get the late
// answer, and is not used again.
func (s *server) put(k *socket, failed bool) {
	s.mu.Lock()
	keep := !failed && k.left > 1 && len(s.idle) < maxIdle && !s.closed
	if keep {
		s.idle = append(s.idle, k)
	}
	s.mu.Unlock()
	if !keep {
		_ = k.conn.Close() // a UDP socket owes nobody anything
	}
}

func (s *server) close() error {
	s.mu.Lock()
	idle := s.idle
	s.idle, s.closed = nil, true
	s.mu.Unlock()
	var errs []error
	for _, k := range idle {
		errs = append(errs, k.conn.Close())
	}
	return errors.Join(errs...)
}

// query asks for all types together on one socket and returns the answers
// in their order, those that were truncated asked again over TCP. One that
// is lost there is nil when another is enough to go on.
func (s *server) query(ctx context.Context, host string, types []uint16, deadline time.Time) (answers []*dns.Msg, err error) {
	questions := make([]*dns.Msg, len(types))
	for i, t := range types {
		q := new(dns.Msg)
		q.SetQuestion(dns.Fqdn(host), t)
		q.SetEdns0(payload, false)
		questions[i] = q
	}
	answers, err = s.overUDP(ctx, questions, deadline)
	if err != nil {
		return nil, err
	}
	var lost error
	for i, a := range answers {
		if a == nil || !a.Truncated {
			continue
		}
		if answers[i], err = s.overTCP(ctx, questions[i], deadline); err != nil {
			answers[i], lost = nil, err
		}
	}
	if lost != nil && !haveRecords(answers) {
		return nil, lost
	}
	return answers, nil
}

// haveRecords says whether one of the answers is enough to go on.
func haveRecords(answers []*dns.Msg) bool {
	return slices.ContainsFunc(answers, func(m *dns.Msg) bool { return m != nil && len(m.Answer) > 0 })
}

// overUDP returns an answer for each question; once one has brought what
// is enough to go on, nil for those that did not come within
// resolutionDelay.
func (s *server) overUDP(ctx context.Context, questions []*dns.Msg, deadline time.Time) ([]*dns.Msg, error) {
	k, err := s.get(len(questions))
	if err != nil {
		return nil, err
	}
	found, err := k.ask(ctx, questions, deadline)
	s.put(k, err != nil)
	for _, m := range found {
		if m != nil && len(m.Answer) > 0 {
			return found, nil
		}
	}
	return found, err
}

func (k *socket) ask(ctx context.Context, questions []*dns.Msg, deadline time.Time) ([]*dns.Msg, error) {
	if err := k.conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	defer interruptible(ctx, k.conn)()
	for _, q := range questions {
		p, err := q.PackBuffer(k.buf[:])
		if err != nil {
			return nil, fmt.Errorf("%w: asking: %w", errMalformed, err)
		}
		if _, err := k.conn.Write(p); err != nil {
			return nil, err
		}
	}
	found := make([]*dns.Msg, len(questions))
	for missing := len(questions); missing > 0; {
		n, err := k.conn.Read(k.buf[:])
		if err != nil {
			return found, err
		}
		for i, q := range questions {
			if found[i] != nil {
				continue
			}
			m, err := accept(q, k.buf[:n])
			if err != nil {
				return found, err
			}
			if m == nil {
				continue
			}
			found[i] = m
			missing--
			soon := time.Now().Add(resolutionDelay)
			if missing > 0 && len(m.Answer) > 0 && soon.Before(deadline) {
				if err := k.conn.SetReadDeadline(soon); err != nil {
					return found, err
				}
			}
			break
		}
	}
	return found, nil
}

// accept returns the message in p when it answers q. What does not is
// somebody's guess, or the late answer to a former question, and not even
// an error: the true answer may still come.
func accept(q *dns.Msg, p []byte) (*dns.Msg, error) {
	const header = 12
	if len(p) < header || uint16(p[0])<<8|uint16(p[1]) != q.Id {
		return nil, nil
	}
	m := new(dns.Msg)
	err := m.Unpack(p)
	switch {
	case !answers(q, m):
		return nil, nil
	case err != nil && !m.Truncated:
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	return m, nil
}

// answers says whether m is the answer to q. A refusal may leave the
// question out.
func answers(q, m *dns.Msg) bool {
	switch {
	case !m.Response || m.Id != q.Id || m.Opcode != dns.OpcodeQuery:
		return false
	case len(m.Question) == 0:
		return m.Rcode != dns.RcodeSuccess && m.Rcode != dns.RcodeNameError
	case len(m.Question) > 1:
		return false
	}
	a, b := q.Question[0], m.Question[0]
	return a.Qtype == b.Qtype && a.Qclass == b.Qclass && strings.EqualFold(a.Name, b.Name)
}

func (s *server) overTCP(ctx context.Context, q *dns.Msg, deadline time.Time) (m *dns.Msg, err error) {
	d := net.Dialer{Deadline: deadline}
	conn, err := d.DialTCP(ctx, "tcp", netip.AddrPort{}, s.addr)
	if err != nil {
		return nil, err
	}
	dc := &dns.Conn{Conn: conn}
	defer func() { err = errors.Join(err, dc.Close()) }()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	defer interruptible(ctx, conn)()
	if err := dc.WriteMsg(q); err != nil {
		return nil, err
	}
	p, err := dc.ReadMsgHeader(nil)
	if err != nil {
		return nil, err
	}
	m = new(dns.Msg)
	if err := m.Unpack(p); err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	if !answers(q, m) {
		return nil, fmt.Errorf("%w: not to the question", errMalformed)
	}
	return m, nil
}

// interruptible lets the end of ctx end a wait on c, until the function it
// returns is called.
func interruptible(ctx context.Context, c net.Conn) func() {
	if ctx.Done() == nil {
		return func() {}
	}
	stop := context.AfterFunc(ctx, func() {
		_ = c.SetDeadline(time.Unix(1, 0)) // fails only on a closed connection
	})
	return func() { stop() }
}

// read returns the addresses of host in an answer of type t.
func read(m *dns.Msg, host string, t uint16) ([]netip.Addr, *Error) {
	switch m.Rcode {
	case dns.RcodeSuccess:
	case dns.RcodeNameError:
		return nil, &Error{Kind: NotFound, Reason: "not_found"}
	case dns.RcodeServerFailure:
		return nil, &Error{Kind: Failed, Reason: "servfail"}
	case dns.RcodeRefused, dns.RcodeNotAuth:
		return nil, &Error{Kind: Failed, Reason: "refused"}
	default:
		return nil, &Error{Kind: Failed, Reason: "malformed", Err: errors.New("response code " + dns.RcodeToString[m.Rcode])}
	}
	owner, ferr := canonical(m.Answer, dns.Fqdn(host))
	if ferr != nil {
		return nil, ferr
	}
	var addrs []netip.Addr
	for _, rr := range m.Answer {
		if h := rr.Header(); h.Class != dns.ClassINET || !strings.EqualFold(h.Name, owner) {
			continue
		}
		switch rr := rr.(type) {
		case *dns.A:
			if a, ok := netip.AddrFromSlice(rr.A.To4()); ok && t == dns.TypeA {
				addrs = append(addrs, a)
			}
		case *dns.AAAA:
			// As it was sent: an IPv4-mapped address stays one.
			if a, ok := netip.AddrFromSlice(rr.AAAA.To16()); ok && t == dns.TypeAAAA {
				addrs = append(addrs, a)
			}
		}
	}
	return addrs, nil
}

// canonical follows the CNAMEs from name to the last owner in the answer. A
// resolver sends the whole chain (RFC 1034 section 5.3.1), so one that ends
// without address is NODATA.
func canonical(rrs []dns.RR, name string) (string, *Error) {
	for range maxChain + 1 {
		next := ""
		for _, rr := range rrs {
			if c, ok := rr.(*dns.CNAME); ok && strings.EqualFold(c.Hdr.Name, name) {
				next = c.Target
				break
			}
		}
		if next == "" {
			return name, nil
		}
		name = next
	}
	return "", &Error{Kind: Failed, Reason: "malformed", Err: fmt.Errorf("more than %d CNAMEs in a row", maxChain)}
}
