package pipeline

import (
	"net/http"
	"time"

	"agentcensus/pipeline/agentcard"
)

// Site is one entry of the list.
type Site struct {
	// Rank is the entry's place in the list, from 1.
	Rank int64
	// Domain is the host to ask: an A-label in lower case without a trailing
	// dot, or the entry as given when Invalid is set.
	Domain string
	// Invalid says why the entry cannot be crawled (a reason code); it is
	// empty for a usable name.
	Invalid string
}

// The three paths, in the order in which they are asked (P2).
const (
	RobotsPath     = "/robots.txt"
	CardPath       = "/.well-known/agent-card.json"
	LegacyCardPath = "/.well-known/agent.json"
)

// FetchResult is what became of one of the three paths, named as first asked.
type FetchResult struct {
	Path    string
	Outcome Outcome
	Reason  string
	// HTTPStatus is the status of the last request, 0 when none was answered.
	HTTPStatus int
	// Requests counts what was sent, redirects included; 0 when robots.txt
	// disallowed the path or the answer was known already.
	Requests int
	// BodyBytes is the sum of the bodies' sizes in bytes, after decoding.
	BodyBytes int64
	// Elapsed is the sum of the requests' times.
	Elapsed time.Duration
	// Latency is the time of the last request.
	Latency time.Duration
	// Target is the URL of the last request, At when it was begun.
	Target string
	At     time.Time
	// Err is the failure in words, empty when an HTTP answer decided.
	Err string
	// Answered says that an HTTP answer was received.
	Answered bool
}

// Publication is a card and the facts of the answer that carried it.
type Publication struct {
	// Path is the path first asked, URL what answered after redirects.
	Path, URL string
	FetchedAt time.Time
	Status    int
	Header    http.Header
	Latency   time.Duration
	// Body is the card as received, after content decoding.
	Body []byte
	Card agentcard.Card
	// Rule is the rule by which the body counts as a card, R1 to R6.
	Rule string
}

// Result is what a crawl knows of a site when it is done with it.
type Result struct {
	Site    Site
	Outcome Outcome
	// Reason is a short code that says more of the outcome; it may be empty.
	Reason  string
	Fetches []FetchResult
	// Card is nil unless Outcome is OutcomeCard.
	Card *Publication
	// begun says that the site's intent was made durable, so that it holds a
	// place among the open sites.
	begun bool
}

// Answered says whether the site answered by HTTP to the last. A site that was
// lost on the way, after its robots.txt it may be, tells nothing of the network
// since: a fetch without an answer is always a site's last.
func (r Result) Answered() bool {
	answered := false
	for _, f := range r.Fetches {
		if f.Outcome.NoAnswer() && f.Outcome != OutcomeProtocolError {
			return false
		}
		answered = answered || f.Answered
	}
	return answered
}
