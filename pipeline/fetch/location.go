package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// maxLocation is the longest Location that is read, in bytes.
const maxLocation = 2 << 10

// SameSite says whether two hosts (A-labels, lower case, no trailing dot) are
// one site: they are equal, or differ by one leading "www.".
func SameSite(a, b string) bool { return Site(a) == Site(b) }

// Site names the site of host: the host without one leading "www.", unless a
// top-level domain is all that would be left.
func Site(host string) string {
	if rest, ok := strings.CutPrefix(host, "www."); ok && strings.Contains(rest, ".") {
		return rest
	}
	return host
}

// isRedirect says whether a status asks to go on elsewhere by itself: 300
// leaves the choice to a reader, 304 to 306 point nowhere (RFC 9110 section
// 15.4).
func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// target returns where a redirect answered at base leads, in the form it
// would be requested: host in lower-case A-labels without trailing dot, no
// port, no fragment, no dot segments, a path.
func target(base *url.URL, h http.Header) (*url.URL, *Error) {
	values := h["Location"]
	if len(values) == 0 {
		return nil, fail(RedirectRefused, "no_location", nil)
	}
	for _, v := range values[1:] {
		if v != values[0] {
			return nil, fail(RedirectRefused, "bad_location", errors.New("several Location fields that differ"))
		}
	}
	loc := strings.Trim(values[0], " \t")
	switch {
	case loc == "":
		return nil, fail(RedirectRefused, "no_location", nil)
	case len(loc) > maxLocation:
		return nil, fail(RedirectRefused, "location_too_long", nil)
	}
	for i := range len(loc) {
		if loc[i] < ' ' || loc[i] == 0x7f {
			return nil, fail(RedirectRefused, "bad_location", errors.New("control character in Location"))
		}
	}
	return resolveReference(base, loc)
}

// reference is a URI reference split as in RFC 3986 appendix B, without the
// fragment. net/url is not used for it: it refuses what browsers follow, and
// forgets how a path was written once one byte of it is not as it would
// write it.
type reference struct {
	scheme, authority, path, query string
	hasScheme, hasAuthority        bool
	hasQuery                       bool
}

func split(s string) (r reference) {
	s, _, _ = strings.Cut(s, "#")
	if i := strings.IndexAny(s, ":/?"); i > 0 && s[i] == ':' && validScheme(s[:i]) {
		r.scheme, r.hasScheme, s = strings.ToLower(s[:i]), true, s[i+1:]
	}
	s, r.query, r.hasQuery = strings.Cut(s, "?")
	if rest, ok := strings.CutPrefix(s, "//"); ok {
		r.hasAuthority = true
		r.authority, s = rest, ""
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			r.authority, s = rest[:i], rest[i:]
		}
	}
	r.path = s
	return r
}

func validScheme(s string) bool {
	for i := range len(s) {
		switch c := s[i] | 0x20; {
		case 'a' <= c && c <= 'z':
		case i > 0 && ('0' <= s[i] && s[i] <= '9' || s[i] == '+' || s[i] == '-' || s[i] == '.'):
		default:
			return false
		}
	}
	return true
}

// resolveReference resolves loc as RFC 3986 section 5.2 says and refuses
// what leaves the site of base.
func resolveReference(base *url.URL, loc string) (*url.URL, *Error) {
	r := split(loc)
	bad := func(format string, a ...any) *Error {
		return fail(RedirectRefused, "bad_location", fmt.Errorf(format, a...))
	}
	web := !r.hasScheme || r.scheme == "https" || r.scheme == "http"
	if r.hasScheme && !r.hasAuthority && web {
		return nil, bad("scheme without authority")
	}
	host := base.Host
	port, user := "", false
	if r.hasAuthority {
		authority := r.authority
		if i := strings.LastIndexByte(authority, '@'); i >= 0 {
			user, authority = true, authority[i+1:]
		}
		h, p, err := splitAuthority(authority)
		if err != nil {
			return nil, bad("%w", err)
		}
		host, port = h, p
	}
	switch {
	case web && !SameSite(host, base.Host):
		return nil, fail(RedirectRefused, "off_site", nil)
	case r.hasScheme && r.scheme != "https":
		return nil, fail(RedirectRefused, "not_https", nil)
	case port != "" && port != "443":
		return nil, fail(RedirectRefused, "port", nil)
	case user:
		return nil, fail(RedirectRefused, "user_info", nil)
	}

	path, query, hasQuery := r.path, r.query, r.hasQuery
	switch {
	case r.hasAuthority || strings.HasPrefix(path, "/"):
	case path == "":
		path = base.EscapedPath()
		if !hasQuery {
			query, hasQuery = base.RawQuery, base.ForceQuery || base.RawQuery != ""
		}
	default:
		dir := base.EscapedPath()
		path = dir[:strings.LastIndexByte(dir, '/')+1] + path
	}
	return build(host, removeDots(escape(path, false)), escape(query, true), hasQuery)
}

// splitAuthority returns the host of a host[:port], as it is asked for, and
// the port without leading zeros. An IP address is a host like any other,
// and the same as no site's.
func splitAuthority(s string) (host, port string, err error) {
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return "", "", errors.New("unclosed bracket in host")
		}
		if _, err := netip.ParseAddr(s[1:end]); err != nil {
			return "", "", err
		}
		host, s = s[:end+1], s[end+1:]
		if s != "" && s[0] != ':' {
			return "", "", errors.New("text after bracket in host")
		}
		s = strings.TrimPrefix(s, ":")
		return host, strings.TrimLeft(s, "0"), nil
	}
	host, port, _ = strings.Cut(s, ":")
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return "", "", fmt.Errorf("port: %w", err)
		}
		port = strconv.FormatUint(n, 10)
	}
	host, err = cleanHost(host)
	return host, port, err
}

// cleanHost brings a host into lower-case A-labels without trailing dot.
func cleanHost(host string) (string, error) {
	ascii := true
	for i := range len(host) {
		switch c := host[i]; {
		case c >= 0x80:
			ascii = false
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.', c == '_':
		default:
			return "", fmt.Errorf("byte %q in host", c)
		}
	}
	if ascii {
		host = strings.ToLower(host)
	} else {
		var err error
		// UTS 46 with mapping, as for what a person types.
		if host, err = idna.Lookup.ToASCII(host); err != nil {
			return "", err
		}
	}
	host = strings.TrimSuffix(host, ".")
	if host == "" || len(host) > 253 || strings.HasPrefix(host, ".") || strings.Contains(host, "..") {
		return "", fmt.Errorf("host %q", host)
	}
	return host, nil
}

// escape writes a path (or query) in the one form of those that are equivalent
// (RFC 3986 section 6.2.2), so that none is requested in two forms (P3): what
// needs no triplet stands for itself, every other byte is a triplet in upper
// case.
func escape(s string, query bool) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch octet, ok := triplet(s[i:]); {
		case ok && unreserved(octet):
			b.WriteByte(octet)
			i += 2
		case ok:
			writeTriplet(&b, octet)
			i += 2
		case unreserved(c), strings.IndexByte("!$&'()*+,;=:@/", c) >= 0, query && c == '?':
			b.WriteByte(c)
		default:
			writeTriplet(&b, c)
		}
	}
	return b.String()
}

// triplet reads the percent-encoded octet with which s begins.
func triplet(s string) (octet byte, ok bool) {
	if len(s) < 3 || s[0] != '%' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[1:3], 16, 8)
	return byte(n), err == nil
}

func writeTriplet(b *strings.Builder, octet byte) {
	const hex = "0123456789ABCDEF"
	b.WriteByte('%')
	b.WriteByte(hex[octet>>4])
	b.WriteByte(hex[octet&15])
}

// unreserved is RFC 3986 section 2.3.
func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// removeDots removes dot segments (RFC 3986 section 5.2.4) of an escaped path,
// in which those written with %2e are plain ones: a verifier built on the URL
// Standard removes these before it checks the signature of the path.
func removeDots(path string) string {
	var out []string
	segments := strings.Split(path, "/")[1:]
	for i, s := range segments {
		last := i == len(segments)-1
		switch s {
		case ".":
			if last {
				out = append(out, "")
			}
		case "..":
			if len(out) > 0 {
				out = out[:len(out)-1]
			}
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, s)
		}
	}
	return "/" + strings.Join(out, "/")
}

// build makes the URL whose request line holds path and query exactly.
func build(host, escaped, query string, hasQuery bool) (*url.URL, *Error) {
	if escaped == "" {
		escaped = "/"
	}
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return nil, fail(RedirectRefused, "bad_location", err)
	}
	return &url.URL{
		Scheme: "https", Host: host,
		Path: path, RawPath: escaped,
		RawQuery: query, ForceQuery: hasQuery && query == "",
	}, nil
}

// normalise brings the URL of a Request into the form of a redirect's
// target, under the same rules.
func normalise(u *url.URL) (*url.URL, *Error) {
	refuse := func(reason string) (*url.URL, *Error) {
		return nil, fail(Refused, reason, fmt.Errorf("URL to fetch: %v", u.Redacted()))
	}
	if u == nil {
		return nil, fail(Refused, "bad_location", errors.New("no URL to fetch"))
	}
	switch {
	case u.Scheme != "https":
		return refuse("not_https")
	case u.User != nil:
		return refuse("user_info")
	case u.Opaque != "" || strings.Contains(u.Host, "["):
		return refuse("bad_location")
	}
	host, port, err := splitAuthority(u.Host)
	if err != nil {
		return refuse("bad_location")
	}
	if port != "" && port != "443" {
		return refuse("port")
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return refuse("off_site")
	}
	path := u.EscapedPath()
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return build(host, removeDots(escape(path, false)), escape(u.RawQuery, true), u.ForceQuery || u.RawQuery != "")
}
