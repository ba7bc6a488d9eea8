package bench

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"time"

	"golang.org/x/sync/semaphore"

	"agentcensus/pipeline"
	"agentcensus/pipeline/fetch"
	"agentcensus/pipeline/resolve"
	"agentcensus/pipeline/robots"
	"agentcensus/signing"
	"agentcensus/sink"
	"agentcensus/sources"
)

// crawlerGC is how the crawl command sets its collector.
var crawlerGC = GC{Percent: 800, Limit: 56 * mebibyte}

// crawler is what is measured: fetch client, resolver, pipeline, state and
// tables, put together as the crawl command does it.
func crawler(ctx context.Context, t Task, sample func(Sample) error) (rep Report, err error) {
	d := &dialer{Reach: t.Reach}
	roots, err := d.pool()
	if err != nil {
		return rep, err
	}
	signer, err := newSigner()
	if err != nil {
		return rep, err
	}
	resolver, err := resolve.New(resolve.Config{Servers: t.Reach.Resolvers, Timeout: requestTimeout, InFlight: 4 * slots})
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, resolver.Close()) }()
	client, err := fetch.New(fetch.Config{
		UserAgent: userAgent, Signer: signer, Resolver: resolver, Slots: semaphore.NewWeighted(slots),
		Dial: d.connect, Allow: []netip.Prefix{loopback}, RootCAs: roots, Timeout: requestTimeout,
	})
	if err != nil {
		return rep, err
	}
	entries, sites, err := names(ctx, t)
	if err != nil {
		return rep, err
	}
	rep, err = crawl(ctx, t, entries, sites, func() pipeline.Exchange { return client.Open() }, sample)
	rep.Blocked = d.hung.until(time.Now()) // none hangs after the crawl
	return rep, err
}

// names is the list of t: its file, or made-up names.
func names(ctx context.Context, t Task) (entries int64, sites iter.Seq2[pipeline.Site, error], err error) {
	if t.List == "" {
		return int64(t.Sites), madeUp(t.Sites), nil
	}
	l, err := sources.Open(ctx, t.List, sources.Options{Limit: int64(t.Sites)})
	if err != nil {
		return 0, nil, err
	}
	return l.Info().Entries, func(yield func(pipeline.Site, error) bool) {
		for s, err := range l.Sites() {
			if !yield(pipeline.Site(s), err) {
				return
			}
		}
	}, nil
}

func madeUp(n int) iter.Seq2[pipeline.Site, error] {
	return func(yield func(pipeline.Site, error) bool) {
		for i := range n {
			if !yield(pipeline.Site{Rank: int64(i + 1), Domain: siteName(i + 1)}, nil) {
				return
			}
		}
	}
}

// crawl runs the pipeline over sites, and keeps what it finds unless t says
// otherwise.
func crawl(ctx context.Context, t Task, entries int64, sites iter.Seq2[pipeline.Site, error],
	open func() pipeline.Exchange, sample func(Sample) error) (rep Report, err error) {
	progress := new(pipeline.Progress)
	var kept keeper
	if !t.Discard {
		kept.crawl, err = sink.OpenCrawl(ctx, sink.Options{
			Out: t.Dir, Kind: sink.Adhoc, Now: time.Now, Simulated: true,
			List: sink.ListInfo{Source: "bench", Entries: entries},
		})
		if err != nil {
			return rep, err
		}
		defer func() { err = errors.Join(err, kept.crawl.Close()) }()
	}
	watch := newWatch(t, progress, sample)
	kept.settled = watch.settled

	var clock signing.ClockWatch
	before, err := ownCPU()
	if err != nil {
		return rep, err
	}
	begun := time.Now()
	stop := watch.start()
	err = pipeline.Run(ctx, pipeline.Config{
		Sites: sites, Open: open, Sink: &kept, Slots: slots, Stop: stop,
		Tokens: []string{"agentcensus"}, RobotsMode: robots.RFC9309, Progress: progress,
		Answered: func(a fetch.Answer) {
			if date := a.Header.Get("Date"); date != "" {
				clock.Observe(date, a.At.Add(a.Latency))
			}
		},
	})
	rep.Wall = time.Since(begun)
	if err = errors.Join(err, watch.end()); err != nil {
		return rep, err
	}
	after, err := ownCPU()
	if err != nil {
		return rep, err
	}
	rep.Own = after - before
	s := progress.Snapshot()
	rep.Sites, rep.Requests, rep.Outcomes = s.Settled, s.Requests, map[string]int64{}
	for o, n := range s.Outcomes {
		rep.Outcomes[string(o)] = n
		if o.NoAnswer() {
			rep.Failed += n
		}
	}
	if kept.crawl == nil || s.Settled < entries {
		return rep, nil
	}
	begun = time.Now()
	if _, err := kept.crawl.Finish(ctx, sink.Facts{UserAgent: userAgent, SoftwareVersion: "bench"}); err != nil {
		return rep, fmt.Errorf("write the tables: %w", err)
	}
	rep.Tables = time.Since(begun)
	return rep, nil
}
