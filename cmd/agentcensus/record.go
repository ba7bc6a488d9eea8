package main

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"agentcensus/pipeline"
	"agentcensus/sink"
)

// keeper is the pipeline's sink: it makes results the records of a crawl's
// state. Of a suppressed publisher only the totals remain.
type keeper struct {
	crawl      *sink.Crawl
	suppressed func(host string) bool
	metrics    *metrics
	log        *slog.Logger
	// stopped says whether the crawl was asked to stop, and when; proven that an
	// answer was received after that.
	stopped func() (at time.Time, asked bool)
	proven  bool

	// Of a weekly crawl, nil in others: check makes the row of a publisher from
	// its result and its card, if it has one; vouch asks the canaries about the
	// sites held back, and is nil too when there are none.
	check func(ctx context.Context, rank int64, r pipeline.Result, card *sink.Card) *sink.Check
	vouch func(context.Context) error
}

func (k *keeper) Begin(ctx context.Context, sites []pipeline.Site) error {
	ranks := make([]int64, len(sites))
	for i, s := range sites {
		ranks[i] = s.Rank
	}
	return k.crawl.Begin(ctx, ranks)
}

func (k *keeper) Settle(ctx context.Context, r pipeline.Result) error {
	rec := sink.Record{
		Entry: r.Site.Rank, Outcome: string(r.Outcome), Reason: r.Reason,
		Answered: r.Answered(), Neutral: r.Outcome.Ours(), At: time.Now(),
	}
	if rec.Answered {
		rec.At = answeredAt(r)
	}
	for _, f := range r.Fetches {
		rec.Fetches = append(rec.Fetches, sink.FetchRecord{
			Path: f.Path, Outcome: string(f.Outcome), Reason: f.Reason, HTTPStatus: f.HTTPStatus,
			Requests: int64(f.Requests), BodyBytes: f.BodyBytes, Elapsed: f.Elapsed,
		})
	}
	rec.Suppressed = k.suppressed(r.Site.Domain)
	if !rec.Suppressed {
		if err := k.addRows(ctx, &rec, r); err != nil {
			return err
		}
	}
	k.watchStop(rec)
	k.metrics.settled(r)
	if !rec.Suppressed { // below the default level: it names the site
		k.log.DebugContext(ctx, "settled", "site", r.Site.Domain, "outcome", r.Outcome, "reason", r.Reason)
	}
	if err := k.crawl.Settle(ctx, rec); err != nil {
		return err
	}
	if k.vouch != nil && k.crawl.Held() >= canaryAfter {
		return k.vouch(ctx)
	}
	return nil
}

// watchStop looks for an answer that was received after the crawl was asked to
// stop.
func (k *keeper) watchStop(rec sink.Record) {
	if at, asked := k.stopped(); asked && rec.Answered && rec.At.After(at) {
		k.proven = true
	}
}

// answeredAt is when the last answer of a site was received.
func answeredAt(r pipeline.Result) (last time.Time) {
	for _, f := range r.Fetches {
		if at := f.At.Add(f.Latency); f.Answered && at.After(last) {
			last = at
		}
	}
	return last
}

// drained ends what is held back when a crawl stops as it was asked to. Those
// sites were open while another one answered: what they came to is theirs.
// Without such an answer nobody knows, and they count as interrupted.
func (k *keeper) drained(ctx context.Context) error {
	if !k.proven || k.vouch != nil {
		return nil
	}
	return k.crawl.Vouch(ctx)
}

// addRows adds the rows of a publisher to its record.
func (k *keeper) addRows(ctx context.Context, rec *sink.Record, r pipeline.Result) error {
	rank := k.crawl.Rank(r.Site.Rank)
	if r.Card != nil {
		card := cardRow(rank, r.Site.Domain, r.Card)
		rec.Card = &card
	}
	if k.check == nil {
		return nil
	}
	if rec.Check = k.check(ctx, rank, r, rec.Card); rec.Check != nil {
		// A publisher is not blamed for what no answer shows: who answered
		// robots.txt alone may have been cut off from here since.
		rec.Answered = rec.Check.HTTPCode != nil
	}
	return ctx.Err()
}

// cardRow is the row of a publication.
func cardRow(rank int64, site string, p *pipeline.Publication) sink.Card {
	return sink.NewCard(sink.Published{
		Rank: rank, Site: site, Path: p.Path, CardURL: p.URL, FetchedAt: p.FetchedAt,
		HTTPStatus: p.Status, Latency: p.Latency, Rule: p.Rule,
		ContentType: field(p.Header, "Content-Type"), CacheControl: field(p.Header, "Cache-Control"),
		ETag: field(p.Header, "Etag"), LastModified: field(p.Header, "Last-Modified"),
		Body: p.Body,
	}, p.Card)
}

// field is a response field's value, nil when it was not sent.
func field(h http.Header, name string) *string {
	values := h.Values(name)
	if len(values) == 0 {
		return nil
	}
	return &values[0]
}
