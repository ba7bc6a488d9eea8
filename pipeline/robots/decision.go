package robots

import "strings"

// What decided, in Decision.By.
const (
	ByRule        = "rule"          // the longest matching rule
	ByTie         = "tie"           // an allow and a disallow rule of the same length: allowed
	ByAbsence     = "absence"       // no rule matches, or no group applies: allowed
	ByImplicit    = "implicit"      // /robots.txt itself: allowed
	ByClosed      = "closed"        // the policy is closed: not allowed
	ByPathTooLong = "path_too_long" // more than MaxPath bytes: not allowed
)

// Decision says whether a path may be requested, and what decided.
type Decision struct {
	Allowed bool
	By      string // one of the By constants
	Group   string // the token of the group that applies, "*", or "" when there is none or it was not asked
	Named   bool   // the group names the bot
	Line    int    // the deciding rule's line, from 1; 0 when no rule decided
	Text    string // that line without comment, as the site wrote it; "" when no rule decided
}

// Allows answers for a path as it would be sent: escaped, with "?" and the query if there is one. The empty path is "/".
// Paths beyond MaxPath are not allowed: who writes both the rules and the redirect to the path sets the price of matching.
//
// Of the matching rules of the group the one with the longest pattern decides, allow before disallow when two are of
// one length (RFC 9309 section 2.2.2). Patterns are measured in octets after normalisation, "*" and "$" included.
func (p *Policy) Allows(path string) Decision {
	if p.state == Open && len(path) > MaxPath {
		return Decision{By: ByPathTooLong}
	}
	return p.Decide(path)
}

// Decide answers as Allows does, for a path of any length: for an operator's own questions.
func (p *Policy) Decide(path string) Decision {
	if p.state != Open {
		return Decision{By: ByClosed}
	}
	asked := newTarget(rooted(path))
	d := Decision{Allowed: true, By: ByAbsence, Group: p.group, Named: p.named}
	if asked.path == "/robots.txt" {
		d.By = ByImplicit
		return d
	}
	allow, disallow := p.rules.longest(asked)
	decides := disallow
	switch {
	case allow == nil && disallow == nil:
		return d
	case disallow == nil || allow != nil && allow.octets > disallow.octets:
		d.By, decides = ByRule, allow
	case allow != nil && allow.octets == disallow.octets:
		d.By, decides = ByTie, allow
	default:
		d.Allowed, d.By = false, ByRule
	}
	d.Line, d.Text = decides.number(), p.rules.lineOf(decides)
	return d
}

// PathOf is the path and query of a URL written as text, as Allows takes them: without scheme, authority and fragment,
// "/" when there is none. It takes what net/url refuses, such as a percent sign that escapes nothing.
func PathOf(rawURL string) string {
	rest, _, _ := strings.Cut(rawURL, "#")
	if scheme, after, found := strings.Cut(rest, "://"); found && !strings.ContainsAny(scheme, "/?") {
		rest = after
	} else if after, found := strings.CutPrefix(rest, "//"); found {
		rest = after
	} else {
		return rooted(rest)
	}
	start := strings.IndexAny(rest, "/?")
	if start < 0 {
		return "/"
	}
	return rooted(rest[start:])
}

func rooted(path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return "/" + path
}
