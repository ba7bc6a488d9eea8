package fetch

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"
)

// Visit is the requests to one site, one after another: its kept
// connections, its resolved hosts and the answer of every URL asked. It is
// not safe for concurrent use.
type Visit struct {
	client *Client
	hosts  map[string]*host
	known  map[string]*answer // by the URL in the form it is requested
	kept   []*conn            // at most one a host, at most maxKept
}

// maxKept is how many connections a visit keeps: the origins of a site, apex
// and www.
const maxKept = 2

// host is what DNS said of a name.
type host struct {
	addrs []netip.Addr // those that may be dialled
	err   *Error
}

// answer is how one request ended, for ever.
type answer struct {
	url     *url.URL
	status  int
	header  http.Header
	body    []byte
	cut     bool
	at      time.Time
	latency time.Duration
	sent    bool
	bytes   int64 // decoded bytes that were received
	err     *Error
}

// Open begins a visit. The caller ends it with Close.
func (c *Client) Open() *Visit {
	return &Visit{client: c, hosts: make(map[string]*host), known: make(map[string]*answer)}
}

// Close closes the kept connections.
func (v *Visit) Close() {
	for _, cn := range v.kept {
		cn.close()
	}
	v.kept = nil
}

// Resolve looks name up, once in a visit; it holds no slot. The error is an
// *Error of a kind dns_... or PrivateAddress, Local or Canceled.
func (v *Visit) Resolve(ctx context.Context, name string) error {
	name, err := cleanHost(name)
	if err != nil {
		return fail(DNSError, "malformed", err)
	}
	if h := v.resolve(ctx, name); h.err != nil {
		return h.err
	}
	return nil
}

func (v *Visit) resolve(ctx context.Context, name string) *host {
	if h := v.hosts[name]; h != nil {
		return h
	}
	c := v.client
	begun := c.now()
	addrs, err := c.resolver.LookupHost(ctx, name)
	h := &host{}
	switch {
	case err != nil:
		h.err = lookupError(ctx, err)
	case len(addrs) == 0:
		h.err = fail(DNSNoAddress, "no_address", nil)
	default:
		if h.addrs = c.guard.filter(addrs); len(h.addrs) == 0 {
			h.err = fail(PrivateAddress, "private", c.guard.check(addrs[0]))
		}
	}
	e := Event{Kind: Lookup, Duration: c.now().Sub(begun)}
	if h.err != nil {
		e.Err = h.err.Kind
	}
	c.observe(e)
	if e.Err != Canceled && e.Err != Local {
		v.hosts[name] = h
	}
	return h
}

// Known returns how the request of u itself ended, redirects not followed;
// false when it was not made in this visit.
func (v *Visit) Known(u *url.URL) (Answer, bool) {
	u, err := normalise(u)
	if err != nil {
		return Answer{}, false
	}
	k := v.known[u.String()]
	if k == nil {
		return Answer{}, false
	}
	a := Answer{Hops: []Hop{{URL: k.url, Status: k.status, Known: true}}}
	a.take(k, int64(len(k.body)))
	return a, true
}

// take makes k the last answer of a, its body cut to maxBody.
func (a *Answer) take(k *answer, maxBody int64) {
	a.URL, a.Status, a.Header, a.Body, a.Cut = k.url, k.status, k.header, k.body, k.cut
	a.At, a.Latency, a.Err = k.at, k.latency, k.err
	if int64(len(a.Body)) > maxBody {
		a.Body, a.Cut = a.Body[:maxBody:maxBody], true
	}
}

// Fetch requests r.URL and follows its redirects inside the site. A URL
// already requested in this visit is not requested again: its answer, or its
// error, is taken as it was, and counts as a hop.
func (v *Visit) Fetch(ctx context.Context, r Request) Answer {
	u, ferr := normalise(r.URL)
	if ferr != nil {
		return Answer{URL: r.URL, Err: ferr}
	}
	var a Answer
	for hop := 0; ; hop++ {
		k, ferr := v.step(ctx, &r, u, hop, &a)
		if ferr != nil {
			// Not asked: the answer of the hop before stays.
			if hop == 0 {
				a.URL = u
			}
			a.Err = ferr
			return a
		}
		a.take(k, r.MaxBody)
		if k.err != nil || !isRedirect(k.status) {
			return a
		}
		if hop == MaxRedirects {
			a.Err = fail(RedirectRefused, "too_many", nil)
			return a
		}
		next, ferr := target(u, k.header)
		if ferr == nil && slices.ContainsFunc(a.Hops, func(h Hop) bool { return h.URL.String() == next.String() }) {
			ferr = fail(RedirectRefused, "loop", nil)
		}
		if ferr != nil {
			a.Err = ferr
			return a
		}
		u = next
	}
}

// step takes one hop: the known answer of u, or a request for it. The error
// says why u was not asked.
func (v *Visit) step(ctx context.Context, r *Request, u *url.URL, hop int, a *Answer) (*answer, *Error) {
	key := u.String()
	k := v.known[key]
	if k == nil && r.Permit != nil {
		if err := r.Permit(ctx, u, hop); err != nil {
			return nil, refusal(err)
		}
		// Asking robots.txt of another origin may have led here.
		k = v.known[key]
	}
	if k != nil {
		a.Hops = append(a.Hops, Hop{URL: u, Status: k.status, Known: true})
		return k, nil
	}
	k, ferr := v.ask(ctx, r, u)
	if ferr != nil {
		return nil, ferr
	}
	v.known[key] = k
	a.Hops = append(a.Hops, Hop{URL: u, Status: k.status})
	a.Elapsed += k.latency
	a.BodyBytes += k.bytes
	if k.sent {
		a.Requests++
	}
	return k, nil
}

// refusal is the error of who permits requests, as an *Error.
func refusal(err error) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	return fail(Refused, "", err)
}

// ask makes one request: name first, then a slot, then the exchange. The
// error says why it was not begun.
func (v *Visit) ask(ctx context.Context, r *Request, u *url.URL) (*answer, *Error) {
	c := v.client
	h := v.resolve(ctx, u.Host)
	if h.err != nil {
		if h.err.Kind == Canceled || h.err.Kind == Local {
			return nil, h.err
		}
		return &answer{url: u, at: c.now(), err: h.err}, nil
	}

	begun := c.now()
	if err := c.slots.Acquire(ctx, 1); err != nil {
		return nil, fail(Canceled, "", err)
	}
	if r.Still != nil {
		if err := r.Still(u); err != nil {
			c.slots.Release(1)
			return nil, refusal(err)
		}
	}
	k := &answer{url: u, at: c.now()}
	c.observe(Event{Kind: SlotWait, Duration: k.at.Sub(begun)})
	buf := c.buffers.get()
	*buf = (*buf)[:0]
	defer c.buffers.put(buf)
	rep, reused := v.exchange(ctx, r, k, h.addrs, buf)
	k.latency = c.now().Sub(k.at)
	c.slots.Release(1)

	if rep != nil {
		k.status, k.header = rep.status, rep.header
	}
	if k.err == nil {
		var err error
		k.body, k.cut, err = c.decoders.decode(*buf, rep.whole, rep.codings, r.MaxBody)
		switch {
		case err != nil && isRedirect(k.status):
			k.body, k.cut = nil, false // of no use anyway
		case err != nil:
			k.err = fail(ProtocolError, "content_encoding", err)
		}
		k.bytes = int64(len(k.body))
	} else if rep != nil && len(rep.codings) == 0 {
		k.bytes = min(int64(len(*buf)), r.MaxBody) // of a body that broke off
	}
	e := Event{Kind: Sent, Duration: k.latency, Status: k.status, Reused: reused}
	if k.err != nil {
		e.Err = k.err.Kind
	}
	c.observe(e)
	return k, nil
}

// exchange is what happens in the slot. It fills in k.sent and k.err, and
// leaves the coded body in buf.
func (v *Visit) exchange(ctx context.Context, r *Request, k *answer, addrs []netip.Addr, buf *[]byte) (rep *reply, reused bool) {
	c := v.client
	deadline := time.Now().Add(c.timeout)
	cn := v.takeKept(k.url.Host, deadline)
	if cn == nil {
		if cn, k.err = c.connect(ctx, k.url.Host, addrs, deadline); k.err != nil {
			return nil, false
		}
	}
	reused = cn.used
	req, ferr := c.sign(r, k.url)
	if ferr != nil {
		cn.close()
		k.err = ferr
		return nil, reused
	}
	release := interruptible(ctx, cn.wire)
	before := cn.wire.written
	rep, k.err = c.roundTrip(cn, req, r.MaxBody, buf)
	k.sent = cn.wire.written > before
	if !release() {
		k.err = fail(Canceled, "", ctx.Err())
	}
	if k.err != nil || !rep.keep {
		cn.close()
		return rep, reused
	}
	cn.used = true
	v.keep(cn)
	return rep, reused
}

// sign makes the GET of u and has it signed, last of all before it is
// written: the signature's time begins now. It holds no field but these, in
// the order http.Request.Write gives them.
func (c *Client) sign(r *Request, u *url.URL) (*http.Request, *Error) {
	h := make(http.Header, 8)
	h["User-Agent"] = []string{c.userAgent}
	h["Accept-Encoding"] = []string{"gzip, zstd"}
	if r.Accept != "" {
		h["Accept"] = []string{r.Accept}
	}
	if r.A2AVersion != "" {
		h["A2A-Version"] = []string{r.A2AVersion} // as its specification writes it
	}
	if err := c.signer.Sign(h, http.MethodGet, u.Host, u.EscapedPath()); err != nil {
		return nil, fail(SigningFailed, "", err)
	}
	return &http.Request{
		Method: http.MethodGet, URL: u, Host: u.Host, Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// takeKept returns the kept connection to host with its deadline set, nil
// when there is none or the peer has closed it.
func (v *Visit) takeKept(host string, deadline time.Time) *conn {
	i := slices.IndexFunc(v.kept, func(cn *conn) bool { return cn.host == host })
	if i < 0 {
		return nil
	}
	cn := v.kept[i]
	v.kept = slices.Delete(v.kept, i, i+1)
	if cn.wire.SetDeadline(deadline) != nil || !cn.alive() {
		cn.close()
		return nil
	}
	// A probe without a socket leaves a deadline of its own.
	if cn.wire.raw == nil && cn.wire.SetDeadline(deadline) != nil {
		cn.close()
		return nil
	}
	return cn
}

// keep keeps cn for the next request to its origin.
func (v *Visit) keep(cn *conn) {
	if len(v.kept) == maxKept {
		v.kept[0].close()
		v.kept = slices.Delete(v.kept, 0, 1)
	}
	v.kept = append(v.kept, cn)
}
