package main

import (
	"context"
	"net/http"

	"agentcensus/pipeline"
	"agentcensus/sink"
)

// keeper is the pipeline's sink: it makes results the records of a crawl's
// state. Of a suppressed publisher only the totals remain.
type keeper struct {
	crawl      *sink.Crawl
	suppressed func(host string) bool
	// check makes the recheck's row of a publisher; nil in other crawls.
	check   func(pipeline.Result) *sink.Check
	metrics *metrics
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
		Answered: r.Answered(), Neutral: r.Outcome.Ours(),
	}
	for _, f := range r.Fetches {
		rec.Fetches = append(rec.Fetches, sink.FetchRecord{
			Path: f.Path, Outcome: string(f.Outcome), Reason: f.Reason, HTTPStatus: f.HTTPStatus,
			Requests: int64(f.Requests), BodyBytes: f.BodyBytes, Elapsed: f.Elapsed,
		})
	}
	rec.Suppressed = k.suppressed(r.Site.Domain)
	if !rec.Suppressed {
		if r.Card != nil {
			card := cardRow(r.Site, r.Card)
			rec.Card = &card
		}
		if k.check != nil {
			rec.Check = k.check(r)
		}
	}
	k.metrics.settled(r)
	return k.crawl.Settle(ctx, rec)
}

// cardRow is the row of a publication.
func cardRow(s pipeline.Site, p *pipeline.Publication) sink.Card {
	return sink.NewCard(sink.Published{
		Rank: s.Rank, Site: s.Domain, Path: p.Path, CardURL: p.URL, FetchedAt: p.FetchedAt,
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
