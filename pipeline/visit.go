package pipeline

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"agentcensus/pipeline/fetch"
	"agentcensus/pipeline/robots"
)

// Limits of a body in bytes, after content decoding (P8).
const (
	MaxRobotsBody = robots.MaxBody
	MaxCardBody   = 262_144
)

// A robots.txt of more than largeRobots bytes is read beside at most one other:
// reading takes up to twenty times its size for a moment, and many sites may
// answer at once.
const (
	largeRobots  = 64 << 10
	largeAtATime = 2
)

// a2aVersion is sent with every card request: some servers answer a request
// without it by a 400 (A2A specification, section 3.6.2).
const a2aVersion = "1.0"

const (
	acceptRobots = "text/plain, */*;q=0.1"
	acceptCard   = "application/json, application/a2a+json;q=0.9, */*;q=0.1"
)

// visit is all that is known of one site while it is under way. It passes
// through the stages and belongs to one goroutine at a time, so that a site's
// requests come one after another (P5).
type visit struct {
	site     Site
	exchange Exchange
	// policies holds the robots.txt policy of each origin asked, by host:
	// scheme and port are always https and 443 (P2). Nil while it is being
	// waited for.
	policies map[string]*robots.Policy
	// closed is set when an origin's robots.txt ended the site.
	closed *closing
	result Result
	// decided says that the site's fate is settled.
	decided bool
}

// closing is the outcome by which a robots.txt ends a site.
type closing struct {
	outcome Outcome
	reason  string
}

// refuse is the answer of a permit that ends a fetch.
func refuse(reason string) error {
	return &fetch.Error{Kind: fetch.RedirectRefused, Reason: reason}
}

var errOptedOut = &fetch.Error{Kind: fetch.RedirectRefused, Reason: "opted_out"}

func (v *visit) decide(o Outcome, reason string) {
	v.result.Outcome, v.result.Reason, v.decided = o, reason, true
}

// decideIfClosed decides the site by the robots.txt, or the opt-out, that ended
// it, and says whether one did.
func (v *visit) decideIfClosed() bool {
	if v.closed == nil {
		return false
	}
	v.decide(v.closed.outcome, v.closed.reason)
	return true
}

// settleByFetches decides the site by the highest of its card fetches, the
// first path winning ties. A path that robots.txt disallowed speaks only when
// both were.
func (v *visit) settleByFetches() {
	var best *FetchResult
	for i := range v.result.Fetches {
		f := &v.result.Fetches[i]
		if f.Path == RobotsPath {
			continue
		}
		switch {
		case best == nil, best.Outcome == OutcomeRobotsDisallowed:
			best = f
		case f.Outcome != OutcomeRobotsDisallowed && outranks(f.Outcome, best.Outcome):
			best = f
		}
	}
	v.decide(best.Outcome, best.Reason)
}

func (v *visit) close() {
	if v.exchange != nil {
		v.exchange.Close()
		v.exchange = nil
	}
	v.policies = nil
}

// local says whether a failure is the crawler's own: such a failure stops the
// crawl and is no outcome of a site.
func local(err *fetch.Error) bool {
	return err != nil && (err.Kind == fetch.Local || err.Kind == fetch.SigningFailed || err.Kind == fetch.Canceled)
}

// robotsOf gives the policy of an origin, asking for its robots.txt if that
// is not known yet (P1). It returns an error only for a local fault.
func (l *line) robotsOf(ctx context.Context, v *visit, host string) (*robots.Policy, error) {
	p, asked := v.policies[host]
	switch {
	case asked && p == nil:
		// The redirects of two robots.txt wait for each other.
		return robots.Refused("robots_loop"), nil
	case asked:
		return p, nil
	}
	v.policies[host] = nil

	u := originURL(host, RobotsPath)
	_, known := v.exchange.Known(u)
	inside := host // the origin whose robots.txt the redirects have led to
	var fault error
	a := v.exchange.Fetch(ctx, fetch.Request{
		URL:     u,
		Accept:  acceptRobots,
		MaxBody: MaxRobotsBody,
		Still:   l.still,
		Permit: func(ctx context.Context, u *url.URL, _ int) error {
			if l.optedOut(u.Hostname()) {
				return errOptedOut
			}
			if pathAndQuery(u) == RobotsPath { // with a query it is another resource
				inside = u.Host
			}
			if u.Host == inside {
				// Its robots.txt is what is being read: there are no rules of
				// that origin yet, and P1 asks for nothing else first.
				return nil
			}
			var err error
			err, fault = l.permitted(ctx, v, u)
			return err
		},
	})
	if fault != nil {
		return nil, fault
	}
	if local(a.Err) {
		return nil, a.Err
	}
	l.answered(a)
	if len(a.Body) > largeRobots {
		if err := l.reading.Acquire(ctx, 1); err != nil {
			return nil, fmt.Errorf("wait to read a robots.txt: %w", err)
		}
	}
	p, end := l.policy(a)
	if len(a.Body) > largeRobots {
		l.reading.Release(1)
	}
	if end != nil && v.closed == nil {
		v.closed = end
	}
	v.policies[host] = p
	if !known { // else another origin's robots.txt led here and has the row
		v.result.Fetches = append(v.result.Fetches, robotsResult(a, p, end))
	}
	return p, nil
}

// policy makes an answer to /robots.txt a policy; closing is nil when the
// site stays open.
func (l *line) policy(a fetch.Answer) (*robots.Policy, *closing) {
	var p *robots.Policy
	switch {
	case a.Err == nil:
		p = robots.Read(robots.Response{Status: a.Status, Header: a.Header, Body: a.Body, Cut: a.Cut}, l.Tokens, l.RobotsMode)
	case a.Err.Reason == errOptedOut.Reason:
		return robots.Refused(a.Err.Reason), &closing{OutcomeOptedOut, ""}
	case a.Err.Kind == fetch.RedirectRefused:
		p = robots.Refused(a.Err.Reason)
	default:
		// RFC 9309 section 2.3.1.4: unreachable is complete disallow.
		return robots.Refused(a.Err.Reason), &closing{Outcome(a.Err.Kind), a.Err.Reason}
	}
	switch p.State() {
	case robots.Unreachable:
		return p, &closing{OutcomeRobotsUnreachable, p.Reason()}
	case robots.Unreadable:
		return p, &closing{OutcomeRobotsUnreadable, p.Reason()}
	}
	return p, nil
}

// permitted says whether a redirect target may be asked: nil, or the refusal
// that ends the fetch. fault is a local fault met while finding out.
func (l *line) permitted(ctx context.Context, v *visit, u *url.URL) (refusal, fault error) {
	if l.optedOut(u.Hostname()) {
		return errOptedOut, nil
	}
	p, err := l.robotsOf(ctx, v, u.Host)
	switch {
	case err != nil:
		return err, err
	case p.Reason() == "robots_loop":
		return refuse("robots_loop"), nil
	case p.State() != robots.Open:
		return refuse("robots_closed"), nil
	case !p.Allows(pathAndQuery(u)).Allowed:
		return refuse("robots_disallowed"), nil
	}
	return nil, nil
}

// askCard asks one of the two card paths and notes what came of it. It
// returns an error only for a local fault.
func (l *line) askCard(ctx context.Context, v *visit, path string) error {
	host := v.site.Domain
	p, err := l.robotsOf(ctx, v, host)
	if err != nil {
		return err
	}
	if d := p.Allows(path); !d.Allowed {
		v.note(FetchResult{Path: path, Outcome: OutcomeRobotsDisallowed, Reason: disallowedBy(d)})
		return nil
	}
	var fault error
	a := v.exchange.Fetch(ctx, fetch.Request{
		URL:        originURL(host, path),
		Accept:     acceptCard,
		A2AVersion: a2aVersion,
		MaxBody:    MaxCardBody,
		Still:      l.still,
		Permit: func(ctx context.Context, u *url.URL, _ int) error {
			var err error
			err, fault = l.permitted(ctx, v, u)
			return err
		},
	})
	if fault != nil {
		return fault
	}
	if local(a.Err) {
		return a.Err
	}
	l.answered(a)
	j := judge(a)
	if a.Err != nil && a.Err.Reason == errOptedOut.Reason {
		j.outcome, j.reason = OutcomeOptedOut, ""
		v.closed = &closing{OutcomeOptedOut, ""}
	}
	v.note(fetchResult(path, a, j.outcome, j.reason))
	if j.outcome == OutcomeCard {
		j.card.Relate(a.URL.Hostname())
		v.result.Card = &Publication{
			Path: path, URL: a.URL.String(), FetchedAt: a.At, Status: a.Status,
			Header: a.Header, Latency: a.Latency, Body: a.Body, Card: *j.card, Rule: j.reason,
		}
	}
	return nil
}

func (v *visit) note(f FetchResult) { v.result.Fetches = append(v.result.Fetches, f) }

// last is the latest fetch of a card path.
func (v *visit) last() FetchResult { return v.result.Fetches[len(v.result.Fetches)-1] }

// asksLegacy says whether agent.json is asked after f, the result of
// agent-card.json: when there was an HTTP answer without a card or the path
// was disallowed, but not after 429.
func asksLegacy(f FetchResult) bool {
	if f.Outcome == OutcomeCard || f.Outcome.NoAnswer() {
		return false
	}
	// A challenge may be a 429 too.
	return f.HTTPStatus != http.StatusTooManyRequests
}

func fetchResult(path string, a fetch.Answer, o Outcome, reason string) FetchResult {
	f := FetchResult{
		Path: path, Outcome: o, Reason: reason,
		HTTPStatus: a.Status, Requests: a.Requests, BodyBytes: a.BodyBytes,
		Elapsed: a.Elapsed, Latency: a.Latency, At: a.At, Answered: a.Status != 0,
	}
	if a.URL != nil {
		f.Target = a.URL.String()
	}
	if a.Err != nil {
		f.Err = a.Err.Error()
	}
	return f
}

// robotsResult is the row of a robots.txt fetch: for a file with rules the
// reason tells how the first card path was decided.
func robotsResult(a fetch.Answer, p *robots.Policy, end *closing) FetchResult {
	switch {
	case end != nil:
		return fetchResult(RobotsPath, a, end.outcome, end.reason)
	case p.Reason() != "rules":
		return fetchResult(RobotsPath, a, OutcomeNoRules, p.Reason())
	}
	d := p.Allows(CardPath)
	reason := "allowed_by_" + d.By
	if !d.Allowed {
		reason = "disallowed_by_" + disallowedBy(d)
	}
	return fetchResult(RobotsPath, a, OutcomeRules, reason)
}

func disallowedBy(d robots.Decision) string {
	if d.Named {
		return "named_group"
	}
	return "star_group"
}

func originURL(host, path string) *url.URL {
	return &url.URL{Scheme: "https", Host: host, Path: path}
}

func pathAndQuery(u *url.URL) string {
	p := u.EscapedPath()
	if u.RawQuery != "" || u.ForceQuery {
		p += "?" + u.RawQuery
	}
	return p
}
