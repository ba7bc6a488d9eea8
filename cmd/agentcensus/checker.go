package main

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"agentcensus/pipeline"
	"agentcensus/sink"
)

// The statuses of a publisher.
const (
	statusUp      = "up"      // somebody answered: 200, 401, 402, 403, a bot challenge
	statusDown    = "down"    // another code, or a failure that is the site's own
	statusUnknown = "unknown" // nothing that tells
	statusSkipped = "skipped" // robots.txt kept us out
)

// The reasons that a name which does not exist adds to its row.
const (
	reasonAgreed   = "resolvers_agree"
	reasonDisagree = "resolvers_disagree"
	// reasonUnconfirmed is given when fewer than two resolvers said anything.
	reasonUnconfirmed = "not_confirmed"
)

// checker makes results of a weekly crawl the rows of the table checks.
type checker struct {
	// confirm asks every resolver for a name: agree of the asked that could
	// say say that it does not exist.
	confirm func(ctx context.Context, host string) (agree, asked int, err error)
	before  history
}

// check is the row of a publisher; card is its card now, nil when there is
// none. Who opted out, or was not asked for another reason, has no row.
func (c *checker) check(ctx context.Context, rank int64, r pipeline.Result, card *sink.Card) *sink.Check {
	if r.Outcome.Ours() {
		return nil
	}
	f := deciding(r)
	row := &sink.Check{Rank: rank, Site: r.Site.Domain, Status: statusOf(f)}
	if f.Reason != "" {
		row.Reasons = append(row.Reasons, f.Reason)
	}
	if f.Outcome == pipeline.OutcomeDNSNotFound {
		var why string
		row.Status, why = c.confirmed(ctx, hostOf(f, r.Site.Domain))
		row.Reasons = append(row.Reasons, why)
	}
	if f.Outcome != pipeline.OutcomeCard {
		row.Error = new(string(f.Outcome))
	}
	if f.HTTPStatus != 0 && !f.Outcome.NoAnswer() {
		row.HTTPCode = new(int32(f.HTTPStatus))
	}
	if f.Target != "" {
		row.Target = new(f.Target)
	}
	if !f.At.IsZero() && !unresolved(f.Outcome) {
		row.CheckedAt, row.LatencyMS = new(f.At.UnixMicro()), new(f.Latency.Milliseconds())
	}
	c.compare(row, r, card)
	return row
}

// compare states what changed since answers last told of the publisher's card.
func (c *checker) compare(row *sink.Check, r pipeline.Result, card *sink.Card) {
	before, known := c.before[row.Site]
	if !known || card == nil && !tellsOfNoCard(r) {
		return
	}
	if err := row.Previous(before.crawl.Kind, before.crawl.Crawl); err != nil {
		return // a directory that no crawl made
	}
	row.Compare(before.card.card(), card)
}

// confirmed is the status of a name that one resolver says does not exist:
// down when at least two say so and none contradicts. With one resolver, or one
// that answers, nobody confirms it.
func (c *checker) confirmed(ctx context.Context, host string) (status, reason string) {
	agree, asked, err := c.confirm(ctx, host)
	switch {
	case err != nil || asked < 2:
		return statusUnknown, reasonUnconfirmed
	case agree < asked:
		return statusUnknown, reasonDisagree
	}
	return statusDown, reasonAgreed
}

// deciding is the fetch that speaks for the site: of the two card paths the
// first that is up, else the last; the robots.txt when it ended the site.
func deciding(r pipeline.Result) pipeline.FetchResult {
	var last *pipeline.FetchResult
	for i := range r.Fetches {
		f := &r.Fetches[i]
		if f.Path == pipeline.RobotsPath {
			continue
		}
		if statusOf(*f) == statusUp {
			return *f
		}
		last = f
	}
	if f := robotsThatClosed(r); f != nil {
		closed := *f
		closed.Outcome, closed.Reason = r.Outcome, r.Reason
		return closed
	}
	if last != nil {
		return *last
	}
	return pipeline.FetchResult{Outcome: r.Outcome, Reason: r.Reason} // no name to ask
}

// robotsThatClosed is the fetch of the robots.txt by which the site ended, nil
// when none did.
func robotsThatClosed(r pipeline.Result) *pipeline.FetchResult {
	for i := len(r.Fetches) - 1; i >= 0; i-- {
		f := &r.Fetches[i]
		if f.Path == pipeline.RobotsPath && (f.Outcome == r.Outcome || r.Outcome == pipeline.OutcomeRobotsDisallowed) {
			return f
		}
	}
	return nil
}

// statusOf is what a fetch says of the site. That of a name that does not
// exist is still to be confirmed.
func statusOf(f pipeline.FetchResult) string {
	switch o := f.Outcome; {
	case o == pipeline.OutcomeCard, o == pipeline.OutcomeChallenged:
		return statusUp
	case o == pipeline.OutcomeRobotsDisallowed, o == pipeline.OutcomeRobotsUnreachable, o == pipeline.OutcomeRobotsUnreadable,
		o == pipeline.OutcomeRedirectRefused && strings.HasPrefix(f.Reason, "robots_"):
		return statusSkipped
	case o == pipeline.OutcomeConnectRefused, o == pipeline.OutcomeTLSCertificate:
		return statusDown
	case o.NoAnswer(), o.Ours():
		return statusUnknown
	}
	switch f.HTTPStatus {
	case http.StatusOK, http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden:
		return statusUp
	case http.StatusTooManyRequests:
		return statusUnknown
	}
	return statusDown
}

// tellsOfNoCard says whether every card path was answered by what a site
// without a card answers. A server that fails, a bot wall, a demand for
// credentials and a 429 say nothing of the card behind them.
func tellsOfNoCard(r pipeline.Result) bool {
	answered := false
	for _, f := range r.Fetches {
		switch f.Outcome {
		case pipeline.OutcomeNotFound, pipeline.OutcomeSoft404, pipeline.OutcomeNotACard, pipeline.OutcomeNearCard,
			pipeline.OutcomeInvalidJSON, pipeline.OutcomeTooLarge, pipeline.OutcomeClientError:
			answered = true
		case pipeline.OutcomeRedirectRefused:
			if strings.HasPrefix(f.Reason, "robots_") {
				return false
			}
			answered = true
		case pipeline.OutcomeRules, pipeline.OutcomeNoRules: // of robots.txt
		default:
			return false
		}
	}
	return answered
}

// holdsCard says whether a row that was compared is of a publisher with a card
// then. Its error does not tell: the other path may have the card.
func holdsCard(c sink.Check) bool { return c.A2AVersionAfter != nil }

// interruptedCheck is the row of a publisher about whom nothing was found out.
func interruptedCheck(p publisher) sink.Check {
	return sink.Check{Rank: p.rank, Site: p.site, Status: statusUnknown, Error: new(string(pipeline.OutcomeInterrupted))}
}

// unresolved says whether o was decided by DNS, before a request was begun.
func unresolved(o pipeline.Outcome) bool {
	switch o {
	case pipeline.OutcomeDNSNotFound, pipeline.OutcomeDNSNoAddress, pipeline.OutcomeDNSError, pipeline.OutcomePrivateAddress:
		return true
	}
	return false
}

// hostOf is the host that a fetch asked last.
func hostOf(f pipeline.FetchResult, site string) string {
	if u, err := url.Parse(f.Target); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	return site
}
