package simweb

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/idna"
)

// Limits are what a polite crawl keeps to.
type Limits struct {
	InFlight int           // requests at once; 60 when 0
	Timeout  time.Duration // of a request; 5 s when 0
	Slack    time.Duration // beyond Timeout, for scheduling, and to notice that a client has gone; 1 s when 0
	Hops     int           // redirects of a fetch; 3 when 0
	Signed   bool          // every request carries a signature and a nonce of its own
	OptedOut []string      // domains that with all names below them are asked nothing
	Own      []string      // hosts of the operator's, free of the rules for sites
}

// Violation is a broken promise.
type Violation struct {
	Promise string // "P1" to "P12"
	Host    string // "" when the crawl as a whole broke it
	Detail  string
	Entry   Entry // the entry that gave it away, if one did
}

func (v Violation) String() string {
	return fmt.Sprintf("%s: %s: %s", v.Promise, v.Host, v.Detail)
}

// Check reads the log in memory and says which promises of a polite crawl were
// broken. It reads nothing else: whether the client was killed and resumed in
// between makes no difference. Nothing may be in flight.
func (w *Web) Check(l Limits) []Violation { return Check(w.Log(), l) }

// Check judges a log. It takes no word of the crawler's for anything.
func Check(log []Entry, l Limits) []Violation {
	l = l.withDefaults()
	log = slices.Clone(log)
	for i := range log {
		log[i].Path = plainPath(log[i].Path)
	}
	c := &checker{limits: l, nonces: map[string]string{}}
	for _, e := range log {
		c.optedOut(e)
		switch e.Kind {
		case KindDial:
			c.dial(e)
		case KindRequest:
			c.request(e)
		}
	}
	spans := spansOf(log, l.Slack)
	bySite := map[string][]span{}
	for _, s := range spans {
		c.duration(s)
		host := s.host
		if s.asked() {
			host = requestHost(s.entry)
		}
		if !slices.Contains(l.Own, host) {
			site := strings.TrimPrefix(host, "www.")
			bySite[site] = append(bySite[site], s)
		}
	}
	c.inFlight(spans)
	for _, name := range sortedKeys(bySite) {
		c.site(bySite[name])
	}
	return c.found
}

func (l Limits) withDefaults() Limits {
	l.InFlight = cmp.Or(l.InFlight, 60)
	l.Timeout = cmp.Or(l.Timeout, 5*time.Second)
	l.Slack = cmp.Or(l.Slack, time.Second)
	l.Hops = cmp.Or(l.Hops, 3)
	return l
}

type checker struct {
	limits Limits
	nonces map[string]string // nonce or signature to the URL that used it
	found  []Violation
}

func (c *checker) report(promise string, e Entry, format string, args ...any) {
	c.found = append(c.found, Violation{promise, e.Host, fmt.Sprintf(format, args...), e})
}

// optedOut: nothing of a domain that opted out, look-ups included (P11).
func (c *checker) optedOut(e Entry) {
	for _, d := range c.limits.OptedOut {
		d = strings.TrimPrefix(d, "www.")
		for _, h := range [...]string{e.Host, strings.TrimPrefix(e.Origin, "https://")} {
			if h == d || strings.HasSuffix(h, "."+d) {
				c.report("P11", e, "%s of %s, which opted out", e.Kind, h)
				return
			}
		}
	}
}

// dial: public addresses (P12), port 443 (P2).
func (c *checker) dial(e Entry) {
	a, err := netip.ParseAddrPort(e.Addr)
	if err != nil || !public(a.Addr()) {
		c.report("P12", e, "dialled %s", e.Addr)
	}
	if err == nil && a.Port() != 443 {
		c.report("P2", e, "dialled port %d", a.Port())
	}
}

// duration: five seconds from the first dial to the end, not five for each of
// dial, handshake, header and body (P7).
func (c *checker) duration(s span) {
	if d := s.end.Sub(s.start); d > c.limits.Timeout+c.limits.Slack {
		c.report("P7", s.entry, "%v from the first dial to the end of its %s", d, s.entry.Kind)
	}
}

// request: what every request must be whatever it is for.
func (c *checker) request(e Entry) {
	if e.Method != "GET" || !strings.HasSuffix(e.Line, " HTTP/1.1") {
		c.report("P2", e, "request line %q", e.Line)
	}
	if h := requestHost(e); h != e.Host {
		c.report("P2", e, "Host is %q under the certificate of %q", h, e.Host)
	}
	if e.Signature != "" && e.Signature != "ok" {
		c.report("P9", e, "signature: %s", e.Signature)
	}
	if !c.limits.Signed {
		return
	}
	if e.Signature == "" && e.Header.Get("Signature") == "" {
		c.report("P9", e, "no signature")
		return
	}
	for _, once := range [...]string{nonceOf(e.Header.Get("Signature-Input")), e.Header.Get("Signature")} {
		if once == "" {
			c.report("P9", e, "no nonce")
			continue
		}
		if other, ok := c.nonces[once]; ok {
			c.report("P9", e, "a signature or nonce of %s used again", other)
		}
		c.nonces[once] = e.Origin + e.Path
	}
}

// nonceOf finds the nonce parameter (RFC 9421, section 2.3).
func nonceOf(input string) string {
	_, rest, ok := strings.Cut(input, `;nonce="`)
	if !ok {
		return ""
	}
	nonce, _, _ := strings.Cut(rest, `"`)
	return nonce
}

// inFlight: never more at once over all sites, dials included (P4).
func (c *checker) inFlight(spans []span) {
	type edge struct {
		at time.Time
		by int
	}
	var edges []edge
	for _, s := range spans {
		if s.late { // its slot may be another's already
			s.end = later(s.start, s.end.Add(-c.limits.Slack))
		}
		edges = append(edges, edge{s.start, 1}, edge{s.end, -1})
	}
	// At one instant what ends comes before what starts.
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.by, b.by)) })
	n, most := 0, 0
	for _, e := range edges {
		n += e.by
		most = max(most, n)
	}
	if most > c.limits.InFlight {
		c.found = append(c.found, Violation{Promise: "P4", Detail: fmt.Sprintf("%d requests in flight, at most %d allowed", most, c.limits.InFlight)})
	}
}

// target is the URL inside the site to which an answer redirects, or "".
func target(e Entry) string {
	if e.Status < 300 || e.Status > 399 || e.Location == "" {
		return ""
	}
	from, err := url.Parse(e.Origin + e.Path)
	if err != nil {
		return ""
	}
	to, err := from.Parse(e.Location)
	if err != nil {
		return ""
	}
	host, err := idna.Lookup.ToASCII(to.Hostname())
	if err != nil {
		return ""
	}
	if to.Scheme != "https" || to.User != nil || to.Port() != "" && to.Port() != "443" ||
		strings.TrimPrefix(host, "www.") != strings.TrimPrefix(requestHost(e), "www.") {
		return ""
	}
	return "https://" + host + plainPath(to.RequestURI())
}

var (
	tripletForm    = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
	unreservedForm = regexp.MustCompile(`^[A-Za-z0-9._~-]$`)
)

// plainPath writes the octets that need no triplet as they are, the others in
// upper case: equivalent URLs are one (RFC 3986, section 6.2.2).
func plainPath(path string) string {
	if !strings.Contains(path, "%") {
		return path
	}
	return tripletForm.ReplaceAllStringFunc(path, func(t string) string {
		octet, err := url.PathUnescape(t)
		if err == nil && unreservedForm.MatchString(octet) {
			return octet
		}
		return strings.ToUpper(t)
	})
}

func requestHost(e Entry) string { return strings.TrimPrefix(e.Origin, "https://") }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
