// Package pipeline is the crawl: sites come in, each is asked for its
// robots.txt and then for a card, and what it came to goes out.
//
// It promises the order and the limits of the asking: robots.txt before
// anything else of an origin (P1), the three paths and no URL twice (P2, P3),
// a site's requests one after another (P5), nothing to a site that opted out
// (P11), and exactly one result for each entry of the list (P13). One request
// is the business of pipeline/fetch, the meaning of a robots.txt that of
// pipeline/robots, the meaning of a card that of pipeline/agentcard. Where
// sites come from and how results are kept is left to the caller.
package pipeline

import (
	"context"
	"iter"
	"net/url"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"agentcensus/pipeline/fetch"
	"agentcensus/pipeline/robots"
)

// Config is what a crawl needs from outside. Sites, Open and Sink are
// required.
type Config struct {
	// Sites yields the list in its order. An error ends the crawl.
	Sites iter.Seq2[Site, error]
	// Skip says that an earlier run of the same crawl has ended this site;
	// its name still counts as seen. Nil skips none.
	Skip func(rank int64) bool
	// OptOut names the hosts that must not be asked anything. Nil: none.
	OptOut OptOut
	// Open gives the exchange of one site.
	Open func() Exchange
	// Sink keeps what the crawl finds.
	Sink Sink
	// Slots is how many requests may be in flight, 1 to 60; the exchange
	// enforces it (P4), the crawl sizes its stages by it.
	Slots int
	// LookupsInFlight bounds the names being resolved ahead of the slots;
	// 0 means four times Slots.
	LookupsInFlight int
	// Tokens are the bot's product tokens for robots.txt, the preferred
	// first.
	Tokens []string
	// RobotsMode is the policy for answers to /robots.txt that RFC 9309
	// leaves open.
	RobotsMode robots.Mode
	// Stop, when closed, admits no further site; what is open is finished.
	Stop <-chan struct{}
	// Progress counts as the crawl goes. Nil is allowed.
	Progress *Progress
	// Answered is told of every fetch's answer. It must not keep it. Nil is
	// allowed.
	Answered func(fetch.Answer)
}

// OptOut knows who must be left alone.
type OptOut interface {
	// Covers says whether host, or a name it lies below, has opted out. It
	// is asked for every request and must be safe for concurrent use.
	Covers(host string) bool
}

// Exchange makes the requests of one site; fetch.Visit is the real one. It
// is not for concurrent use, but a Permit may fetch from the same exchange.
type Exchange interface {
	Resolve(ctx context.Context, host string) error
	Fetch(ctx context.Context, r fetch.Request) fetch.Answer
	Known(u *url.URL) (fetch.Answer, bool)
	Close()
}

// Sink keeps results.
type Sink interface {
	// Begin returns when the intent to ask these sites is durable.
	Begin(ctx context.Context, sites []Site) error
	// Settle takes the result of a site; it is durable at most a second
	// later.
	Settle(ctx context.Context, r Result) error
}

// Run crawls the list. It returns nil when every site has its result, or
// when Stop was closed and every open site has. A local fault (no file
// descriptors, no route, a signature that fails) closes the intake, lets what
// is open finish and is then returned; an error of the sink or of the list,
// or the end of ctx, stops at once.
func Run(ctx context.Context, c Config) error {
	stages, ctx := errgroup.WithContext(ctx)
	l := newLine(c, stages)

	admitted := l.admit(ctx)                                 // names, opt-out
	resolved := l.stage(ctx, l.lookups, admitted, l.resolve) // DNS, holds no slot
	begun := l.begin(ctx, resolved)                          // the intent is durable
	ruled := l.stage(ctx, l.open, begun, l.robots)           // /robots.txt
	asked := l.stage(ctx, l.open, ruled, l.card)             // agent-card.json
	settled := l.stage(ctx, l.open, asked, l.legacyCard)     // agent.json
	l.settle(ctx, settled)                                   // totals, cards

	if err := stages.Wait(); err != nil {
		return err
	}
	return l.faultErr // no stage is left that could set it
}

// newLine sizes the stages: two open sites a slot keep every slot busy, and
// every stage has a worker for each, so that none of them waits for a worker.
func newLine(c Config, g *errgroup.Group) *line {
	if c.LookupsInFlight == 0 {
		c.LookupsInFlight = 4 * c.Slots
	}
	if c.Progress == nil {
		c.Progress = new(Progress)
	}
	return &line{
		Config: c, group: g,
		open:    2 * c.Slots,
		lookups: c.LookupsInFlight,
		places:  semaphore.NewWeighted(int64(2 * c.Slots)),
		reading: semaphore.NewWeighted(largeAtATime),
		decided: make(chan *visit),
		halt:    make(chan struct{}),
	}
}
