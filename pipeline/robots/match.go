package robots

import (
	"strings"

	"github.com/jimsmart/grobotstxt"
)

// matches says whether a pattern matches in either of the forms of RFC 9309 section 2.2.2.
func (asked *target) matches(pattern string) bool {
	if matches(asked.path, pattern) {
		return true
	}
	// What comes before the query is the same in both forms, so that most patterns need no second one.
	start := strings.IndexAny(pattern, "?*")
	if start < 0 || !strings.HasPrefix(asked.path, pattern[:start]) {
		return false
	}
	query := queryForm(pattern)
	if asked.query == "" {
		return query != pattern && matches(asked.path, query)
	}
	return matches(asked.query, query)
}

// matches is grobotstxt.Matches, asked only when wildcards need it: it costs the product of both lengths and a slice of
// the path's length, so that many hostile rules for a long path would cost a second.
func matches(path, pattern string) bool {
	star := strings.IndexByte(pattern, '*')
	if star < 0 {
		if exact, anchored := strings.CutSuffix(pattern, "$"); anchored {
			return path == exact
		}
		return strings.HasPrefix(path, pattern)
	}
	if !strings.HasPrefix(path, pattern[:star]) {
		return false
	}
	path, pattern = path[star:], pattern[star:]
	return mayMatch(path, pattern) && grobotstxt.Matches(path, pattern)
}

// mayMatch says whether what stands between the stars of a pattern is in the path in that order, and at its end where
// the pattern is anchored. Without that nothing can match.
func mayMatch(path, pattern string) bool {
	pattern, anchored := strings.CutSuffix(pattern, "$")
	if anchored && !strings.HasSuffix(path, pattern[strings.LastIndexByte(pattern, '*')+1:]) {
		return false
	}
	for more := true; more; {
		var literal string
		literal, pattern, more = strings.Cut(pattern, "*")
		at := strings.Index(path, literal)
		if at < 0 {
			return false
		}
		path = path[at+len(literal):]
	}
	return true
}

// target is a path asked about.
type target struct {
	path  string // normalised
	query string // in query form where that differs, else ""
}

func newTarget(path string) target {
	t := target{path: normalise(path, false)}
	if q := queryForm(t.path); q != t.path {
		t.query = q
	}
	return t
}

// normalise brings paths and patterns to one form (RFC 9309 section 2.2.2, RFC 3986 section 6.2.2): percent-encoded
// unreserved octets decoded, other percent encoding in upper case, octets that no URL holds encoded. A percent sign that
// escapes nothing stays. The special characters of section 2.2.3 are encoded where they stand for themselves: "*" and
// "$" in a path, "$" within a pattern.
func normalise(s string, pattern bool) string {
	i := 0
	for i < len(s) && isPlain(s[i]) {
		i++
	}
	if i == len(s) {
		return s
	}
	out := make([]byte, i, len(s)+16)
	copy(out, s)
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			c = unhex(s[i+1])<<4 | unhex(s[i+2])
			i += 2
			if isUnreserved(c) {
				out = append(out, c)
			} else {
				out = appendEscaped(out, c)
			}
		case c == '%':
			out = append(out, c)
		case c == '*' && pattern, c == '$' && pattern && i == len(s)-1:
			out = append(out, c)
		case c == '*', c == '$', !isURL(c):
			out = appendEscaped(out, c)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// queryForm encodes what delimits parts of a URL where it stands within a query. The table of RFC 9309 section 2.2.2
// matches "?baz=https://foo.bar" as "?baz=https%3A%2F%2Ffoo.bar", so that the two are one; other crawlers keep them
// apart, so that a rule counts in either form.
func queryForm(s string) string {
	start := strings.IndexByte(s, '?') + 1
	if start == 0 || !strings.ContainsAny(s[start:], ":/?@[]") {
		return s
	}
	out := make([]byte, start, len(s)+16)
	copy(out, s)
	for i := start; i < len(s); i++ {
		switch c := s[i]; c {
		case ':', '/', '?', '@', '[', ']':
			out = appendEscaped(out, c)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// joinStars makes one of adjacent wildcards: they match the same, at less cost.
func joinStars(s string) string {
	if !strings.Contains(s, "**") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		if s[i] != '*' || i == 0 || s[i-1] != '*' {
			out = append(out, s[i])
		}
	}
	return string(out)
}

func appendEscaped(out []byte, c byte) []byte {
	const digits = "0123456789ABCDEF"
	return append(out, '%', digits[c>>4], digits[c&0xF])
}

// isPlain says whether normalise leaves c as it is wherever it stands.
func isPlain(c byte) bool { return c != '%' && c != '*' && c != '$' && isURL(c) }

// isUnreserved is RFC 3986 section 2.3.
func isUnreserved(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '-' || c == '.' || c == '_' || c == '~'
}

// isURL says whether c may stand in a URL unencoded: unreserved or reserved (RFC 3986 sections 2.2 and 2.3).
func isURL(c byte) bool {
	switch c {
	case '!', '#', '$', '&', '\'', '(', ')', '*', '+', ',', '/', ':', ';', '=', '?', '@', '[', ']':
		return true
	}
	return isUnreserved(c)
}

func isHex(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// unhex is the value of a hexadecimal digit.
func unhex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}
