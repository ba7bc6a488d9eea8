package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"golang.org/x/net/http/httpguts"
)

// DefaultTimeout is how long one request may take.
const DefaultTimeout = 5 * time.Second

// connectShare is the part of a request's time after which a connection that
// is not there is given up: a host that drops SYNs would hold its slot for the
// whole time. 3.5 s of 5 s leave room for three SYNs (at 0, 1 and 3 s).
const connectShare = 0.7

// MaxRedirects is how many redirects one fetch follows.
const MaxRedirects = 3

// Signer signs requests.
type Signer interface {
	// Sign adds the signature headers for a request of path (escaped, as
	// sent, without the query) at authority (lower case, no default port)
	// to h, which already holds User-Agent.
	Sign(h http.Header, method, authority, path string) error
}

// Resolver looks up the addresses of a host. Errors that are or wrap a
// *resolve.Error or a *net.DNSError are told apart by what they say.
type Resolver interface {
	LookupHost(ctx context.Context, host string) ([]netip.Addr, error)
}

// Slots bounds the requests in flight; *semaphore.Weighted is one. A request
// weighs 1.
type Slots interface {
	Acquire(ctx context.Context, n int64) error
	Release(n int64)
}

// Config is what a Client needs. UserAgent, Signer, Resolver and Slots have
// no default.
type Config struct {
	UserAgent string // one line of visible ASCII
	Signer    Signer
	Resolver  Resolver
	Slots     Slots

	// Dial connects to addr, an address of host the guard has let through.
	// It must return soon after ctx is done. nil: a net.Dialer that asks the
	// guard once more at the socket.
	Dial func(ctx context.Context, addr netip.AddrPort, host string) (net.Conn, error)

	Allow   []netip.Prefix   // addresses the guard lets through besides public ones
	RootCAs *x509.CertPool   // nil: the system's
	Timeout time.Duration    // of one request, dial to last body byte; 0: DefaultTimeout
	Now     func() time.Time // for the times in an Answer; deadlines are the system clock's. nil: time.Now
	Observe func(Event)      // told of what took time; called from many goroutines. nil: nobody is
}

// Client makes requests for many sites at once, each site through a Visit of
// its own.
type Client struct {
	userAgent string
	signer    Signer
	resolver  Resolver
	slots     Slots
	dialFunc  func(ctx context.Context, addr netip.AddrPort, host string) (net.Conn, error)
	guard     *guard
	online    func() bool // whether this machine has a route to the internet
	tls       *tls.Config // ServerName is set on a copy
	timeout   time.Duration
	// connectTimeout is the part of timeout that connecting may take.
	connectTimeout time.Duration
	now            func() time.Time
	observe        func(Event)
	buffers        *buffers
	decoders       *decoders
}

// New returns a Client, or an error that names what is wrong with c.
func New(c Config) (*Client, error) {
	switch {
	case c.UserAgent == "" || !visibleASCII(c.UserAgent):
		return nil, fmt.Errorf("fetch: user agent %q is not a line of visible ASCII", c.UserAgent)
	case c.Signer == nil:
		return nil, errors.New("fetch: no signer")
	case c.Resolver == nil:
		return nil, errors.New("fetch: no resolver")
	case c.Slots == nil:
		return nil, errors.New("fetch: no slots")
	case c.Timeout < 0:
		return nil, fmt.Errorf("fetch: timeout %v is negative", c.Timeout)
	}
	bufs := newBuffers()
	cl := &Client{
		userAgent: c.UserAgent,
		signer:    c.Signer,
		resolver:  c.Resolver,
		slots:     c.Slots,
		dialFunc:  c.Dial,
		guard:     newGuard(c.Allow),
		online:    hasRoute,
		tls: &tls.Config{
			RootCAs:    c.RootCAs,
			MinVersion: tls.VersionTLS12,
			NextProtos: []string{"http/1.1"},
		},
		timeout:  c.Timeout,
		now:      c.Now,
		observe:  c.Observe,
		buffers:  bufs,
		decoders: newDecoders(bufs),
	}
	if cl.timeout == 0 {
		cl.timeout = DefaultTimeout
	}
	cl.connectTimeout = time.Duration(connectShare * float64(cl.timeout))
	if cl.now == nil {
		cl.now = time.Now
	}
	if cl.observe == nil {
		cl.observe = func(Event) {}
	}
	if cl.dialFunc == nil {
		cl.dialFunc = dialWith(&net.Dialer{
			Control:   cl.guard.control,
			KeepAlive: -1, // connections live for seconds
		})
	}
	return cl, nil
}

// visibleASCII says whether s can be a field value that intermediaries leave
// alone.
func visibleASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return httpguts.ValidHeaderFieldValue(s)
}

// Request is what a fetch asks for.
type Request struct {
	URL        *url.URL // https, port 443
	Accept     string
	A2AVersion string // the A2A-Version header, none when ""
	MaxBody    int64  // bytes after content decoding

	// Permit is asked before every request, the first (hop 0) included, and
	// before its host is resolved; it is not asked for a known answer. An
	// error ends the fetch: as it is when it is an *Error, else as Refused.
	// Permit may itself call Fetch of the same Visit. nil permits all.
	Permit func(ctx context.Context, u *url.URL, hop int) error

	// Still is asked once more when the request has its slot, right before it is
	// begun: Permit may have been long ago. It must return at once; its error is
	// taken as Permit's. nil permits all.
	Still func(u *url.URL) error
}

// Answer is how a fetch ended. With an error in Err the other fields tell of
// the last request as far as it went.
type Answer struct {
	URL    *url.URL    // of the last hop
	Status int         // as sent: 200 to 599 without error; 0 when no usable status came
	Header http.Header // of the last response, nil when its header was not read whole
	Body   []byte      // decoded, at most MaxBody bytes
	Cut    bool        // the body is longer than Body

	Requests  int           // sent: at least one byte was written; redirects included
	BodyBytes int64         // decoded bytes received, redirects and bodies that broke off included
	Elapsed   time.Duration // dial to last body byte, summed over the requests; no waiting, no DNS
	At        time.Time     // when the last request was begun
	Latency   time.Duration // of the last request, dial to last body byte

	Hops []Hop  // every URL requested or known, in order
	Err  *Error // nil when a final answer came whole, or was cut at MaxBody
}

// Hop is one URL on the way of a fetch.
type Hop struct {
	URL    *url.URL
	Status int  // 0 when it brought no answer
	Known  bool // answered by an earlier request of the visit
}

// EventKind says what an Event tells of.
type EventKind string

// The event kinds.
const (
	SlotWait EventKind = "slot_wait" // a slot was waited for
	Lookup   EventKind = "lookup"    // a host was resolved, or not
	Sent     EventKind = "request"   // a request ended, however
)

// Event is something that took time. It names no site.
type Event struct {
	Kind     EventKind
	Duration time.Duration
	Status   int  // of a request: 0 when it brought no answer
	Reused   bool // of a request: sent on a kept connection
	Err      Kind // "" when it went well
}
