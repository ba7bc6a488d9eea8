// Package robots turns a response to /robots.txt into a Policy, and a Policy answers whether a path may be requested
// (RFC 9309).
//
// It promises:
//   - Read never fails: whatever a site sends is some policy, and an unclear answer is never taken for leave by accident.
//     Each policy names its reason.
//   - A Policy is read once and asked many times; it never changes and is safe for concurrent use.
//   - Reading takes time linear in the body, asking takes time linear in the rules times the path.
//
// Where it is narrower than RFC 9309: a recognised bot challenge closes the site whatever its status (by the RFC a 4xx
// is leave to crawl), and so do 429, a redirect that was not followed, and bytes that say gzip and are not. Under Strict 401, 403, HTML
// and text without any line of robots.txt close it as well. A closed policy does not allow /robots.txt either, and no
// path beyond MaxPath bytes is allowed. Lenient as Google's parser: frequent misspellings, a missing colon and
// trailing text after a user agent's token are understood.
//
// Fetching, redirects, origins and network failures are left to the caller; so is what a closed site is called.
package robots

import (
	"net/http"
	"strconv"

	"agentcensus/pipeline/challenge"
)

// Mode says how an answer that is no robots.txt is read.
type Mode string

const (
	// RFC9309 takes 4xx but 429, HTML and text without a recognisable line for no rules.
	RFC9309 Mode = "rfc9309"
	// Strict closes the site on 401, 403, HTML and text without a recognisable line.
	Strict Mode = "strict"
)

const (
	// MaxBody is how many decoded bytes of a robots.txt are read: 500 KiB, the least RFC 9309 section 2.5 demands.
	MaxBody = 512_000
	// MaxPath is the longest path, with its query, that is matched, in bytes.
	MaxPath = 2048
)

// Response is the final answer to a request for /robots.txt.
type Response struct {
	Status int
	Header http.Header
	Body   []byte // after content decoding
	Cut    bool   // Body is only the beginning
}

// State says what kind of policy a response gave.
type State int

const (
	// Open: the site may be asked, by its rules.
	Open State = iota
	// Unreachable: the server failed or asked for less (5xx, 429); RFC 9309 section 2.3.1.4.
	Unreachable
	// Unreadable: there was an answer, but not one that can be honoured.
	Unreadable
)

func (s State) String() string {
	switch s {
	case Open:
		return "open"
	case Unreachable:
		return "unreachable"
	default:
		return "unreadable"
	}
}

// Policy is what one robots.txt says to one bot. The zero Policy is not useful; use Read or Refused.
type Policy struct {
	state  State
	reason string
	group  string // the token whose group applies, "*", or "" for none
	named  bool
	rules  rules
}

// Read makes a policy of a response. The tokens are the bot's product tokens in order of preference: the first that has
// a group decides, else "*" (RFC 9309 section 2.2.1). Whole agent strings are cut to their tokens (see Token).
func Read(r Response, tokens []string, mode Mode) *Policy {
	plain, partial, fault := plainText(r.Body, r.Cut)
	if vendor, ok := challenge.Recognise(r.Status, r.Header, plain); ok {
		return closed(Unreadable, "challenge_"+vendor)
	}
	switch {
	case 200 <= r.Status && r.Status <= 299 && fault != "":
		return closed(Unreadable, fault)
	case 200 <= r.Status && r.Status <= 299:
		return readRules(r.Header, plain, partial, tokens, mode)
	case 300 <= r.Status && r.Status <= 399:
		return closed(Unreadable, statusReason(r.Status))
	case r.Status == http.StatusTooManyRequests:
		return closed(Unreachable, statusReason(r.Status))
	case mode == Strict && (r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden):
		return closed(Unreadable, statusReason(r.Status))
	case 400 <= r.Status && r.Status <= 499:
		return &Policy{state: Open, reason: statusReason(r.Status)}
	default: // 5xx, and numbers that are no status for a final answer
		return closed(Unreachable, statusReason(r.Status))
	}
}

// Refused is the closed policy of a robots.txt that was not read because a redirect to it was refused. The reason is
// the code of that refusal.
func Refused(reason string) *Policy {
	return closed(Unreadable, reason)
}

// readRules reads the body of a successful response. RFC 9309 section 2.3.1.5 has every line tried, so that HTML around
// user-agent lines hides no rules; under Strict it is HTML all the same.
func readRules(h http.Header, plain []byte, partial bool, tokens []string, mode Mode) *Policy {
	text, blank := textOf(plain, partial)
	groups := gather(text, tokens)
	html := challenge.IsHTML(h, plain)
	switch {
	case blank:
		return &Policy{state: Open, reason: "empty"}
	case html && mode == Strict:
		return closed(Unreadable, "html")
	case html && !groups.hasAgent:
		return &Policy{state: Open, reason: "html"}
	case !groups.recognised && mode == Strict:
		return closed(Unreadable, "no_line")
	case !groups.recognised:
		return &Policy{state: Open, reason: "no_line"}
	}
	p := &Policy{state: Open, reason: "rules"}
	var lines []ruleLine
	p.group, p.named, lines = groups.chosen()
	p.rules = newRules(text, lines)
	return p
}

func closed(state State, reason string) *Policy {
	return &Policy{state: state, reason: reason}
}

func statusReason(status int) string {
	return "status_" + strconv.Itoa(status)
}

// State says whether the site is open to the bot at all.
func (p *Policy) State() State { return p.state }

// Reason is the short code of why the policy is what it is. Open: "rules", "empty", "html", "no_line", "status_404" and
// other 4xx. Closed: "status_429", "status_503" and other statuses, "challenge_" and a vendor, "bad_gzip", the code given
// to Refused, and under Strict "status_401", "status_403", "html", "no_line".
func (p *Policy) Reason() string { return p.reason }
