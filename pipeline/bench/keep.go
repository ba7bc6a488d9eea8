package bench

import (
	"context"
	"net/http"

	"agentcensus/pipeline"
	"agentcensus/sink"
)

// keeper puts results into a crawl's state, as the crawl command does. Without
// a crawl it drops them.
type keeper struct {
	crawl   *sink.Crawl
	settled func()
}

func (k *keeper) Begin(ctx context.Context, sites []pipeline.Site) error {
	if k.crawl == nil {
		return nil
	}
	ranks := make([]int64, len(sites))
	for i, s := range sites {
		ranks[i] = s.Rank
	}
	return k.crawl.Begin(ctx, ranks)
}

func (k *keeper) Settle(ctx context.Context, r pipeline.Result) error {
	defer k.settled()
	if k.crawl == nil {
		return nil
	}
	return k.crawl.Settle(ctx, record(r))
}

// record is a result as the sink takes it.
func record(r pipeline.Result) sink.Record {
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
	if p := r.Card; p != nil {
		card := sink.NewCard(sink.Published{
			Rank: r.Site.Rank, Site: r.Site.Domain, Path: p.Path, CardURL: p.URL, FetchedAt: p.FetchedAt,
			HTTPStatus: p.Status, Latency: p.Latency, Rule: p.Rule,
			ContentType: field(p.Header, "Content-Type"), CacheControl: field(p.Header, "Cache-Control"),
			ETag: field(p.Header, "Etag"), LastModified: field(p.Header, "Last-Modified"), Body: p.Body,
		}, p.Card)
		rec.Card = &card
	}
	return rec
}

func field(h http.Header, name string) *string {
	if values := h.Values(name); len(values) > 0 {
		return &values[0]
	}
	return nil
}
