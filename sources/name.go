package sources

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Reasons why a name cannot be crawled.
const (
	ReasonEmpty        = "empty"          // nothing but blanks or a dot
	ReasonEmptyLabel   = "empty_label"    // two dots in a row, or one in front
	ReasonBadCharacter = "bad_character"  // neither letter, digit, hyphen nor dot
	ReasonUnderscore   = "underscore"     // such as Tranco's _wildcard_.ph
	ReasonHyphen       = "hyphen"         // a label that begins or ends with one
	ReasonLabelTooLong = "label_too_long" // more than 63 octets (RFC 1035, 2.3.4)
	ReasonNameTooLong  = "name_too_long"  // more than 253 octets as written
	ReasonBadIDNA      = "bad_idna"       // no valid internationalised label
	ReasonIPLiteral    = "ip_literal"     // an address, in any form a browser reads as one
	ReasonSingleLabel  = "single_label"   // a bare top-level domain or host name
	ReasonSpecialUse   = "special_use"    // never on the public internet
	ReasonNotWeb       = "not_web"        // below arpa: reverse zones and the like
)

const (
	maxLabel = 63  // RFC 1035, section 2.3.4
	maxName  = 253 // 255 octets on the wire, less the root and one length octet
)

// NameError says why a name is unusable.
type NameError struct {
	Name   string // as given
	Reason string // one of the Reason constants
}

func (e *NameError) Error() string {
	return fmt.Sprintf("%q is no name of a public web site (%s)", e.Name, e.Reason)
}

// Normalise brings a domain name into the one form used everywhere: lower case,
// A-labels, no blanks around it, no trailing dot. A name that is in that form
// already comes back as it is. An unusable name gives a *NameError.
//
// Names below .example and .test are usable: the simulated web lives there.
// Public suffixes are too: some of them have web sites of their own.
func Normalise(name string) (string, error) {
	domain, reason := normalise(name)
	if reason != "" {
		return "", &NameError{Name: name, Reason: reason}
	}
	return domain, nil
}

// normalise is Normalise with the reason as a plain word.
func normalise(name string) (domain, reason string) {
	domain, reason = canonical(name)
	if reason == "" {
		reason = offLimits(domain)
	}
	return domain, reason
}

// canonical is Normalise's spelling half: it says nothing of which names are
// worth asking, so that an opt-out line may also be a top-level domain.
func canonical(name string) (domain, reason string) {
	s := strings.TrimSpace(name)
	switch {
	case !utf8.ValidString(s):
		return "", ReasonBadCharacter
	case strings.HasPrefix(s, "["):
		return "", ReasonIPLiteral
	case strings.Contains(s, ":"):
		if _, err := netip.ParseAddr(s); err == nil {
			return "", ReasonIPLiteral
		}
		return "", ReasonBadCharacter
	}
	if isASCII(s) {
		s = strings.ToLower(s)
	} else {
		a, err := nameProfile().ToASCII(s)
		if err != nil {
			return "", ReasonBadIDNA
		}
		s = a
	}
	s = strings.TrimSuffix(s, ".")
	if reason := spelling(s); reason != "" {
		return "", reason
	}
	return s, ""
}

// nameProfile maps and validates by UTS 46 without the rules that only a
// registry may enforce: names that are registered and answer must pass, those
// with hyphens in third and fourth place, joiners and mixed directions included.
func nameProfile() *idna.Profile {
	return idna.New(
		idna.MapForLookup(),
		idna.Transitional(false),
		idna.StrictDomainName(false), // ASCII is judged by spelling, with a reason of its own
		idna.CheckHyphens(false),
		idna.CheckJoiners(false),
	)
}

// spelling judges a lower-case ASCII name without its trailing dot, label by
// label from the left; the first fault counts.
func spelling(s string) string {
	if s == "" {
		return ReasonEmpty
	}
	for label := range strings.SplitSeq(s, ".") {
		if reason := labelSpelling(label); reason != "" {
			return reason
		}
	}
	if len(s) > maxName {
		return ReasonNameTooLong
	}
	if endsInNumber(s) {
		return ReasonIPLiteral
	}
	return ""
}

func labelSpelling(label string) string {
	if label == "" {
		return ReasonEmptyLabel
	}
	for i := range len(label) {
		switch c := label[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-':
		case c == '_':
			return ReasonUnderscore
		default:
			return ReasonBadCharacter
		}
	}
	if label[0] == '-' || label[len(label)-1] == '-' {
		return ReasonHyphen
	}
	if len(label) > maxLabel {
		return ReasonLabelTooLong
	}
	if strings.HasPrefix(label, "xn--") {
		if _, err := nameProfile().ToUnicode(label); err != nil {
			return ReasonBadIDNA
		}
	}
	return ""
}

// endsInNumber reports whether a name's last label is a number, decimal or hex:
// URL parsers take such a host for an IPv4 address, 1.1 and 0x7f.1 included
// (WHATWG URL, "ends in a number checker").
func endsInNumber(s string) bool {
	last := s[strings.LastIndexByte(s, '.')+1:]
	digits, hex := last, false
	if rest, ok := strings.CutPrefix(last, "0x"); ok {
		digits, hex = rest, true
	}
	for i := range len(digits) {
		c := digits[i]
		if ('0' <= c && c <= '9') || (hex && 'a' <= c && c <= 'f') {
			continue
		}
		return false
	}
	return true
}

// offLimits gives the reason why a well-spelt name is not asked, "" if it is.
// Sources: IANA's special-use domain names (RFC 6761 localhost and invalid,
// RFC 6762 local, RFC 7686 onion, RFC 8375 home.arpa, RFC 9476 alt) and
// ICANN's reservation of internal.
func offLimits(domain string) string {
	if domain == "home.arpa" || strings.HasSuffix(domain, ".home.arpa") {
		return ReasonSpecialUse
	}
	dot := strings.LastIndexByte(domain, '.')
	switch domain[dot+1:] {
	case "local", "localhost", "internal", "invalid", "onion", "alt":
		return ReasonSpecialUse
	case "arpa":
		return ReasonNotWeb
	}
	if dot < 0 {
		return ReasonSingleLabel
	}
	return ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
