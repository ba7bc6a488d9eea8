package bench

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"agentcensus/pipeline"
	"agentcensus/sink"
)

// sinkGroup is how many sites begin together in sinkFigures.
const sinkGroup = 2 * slots

// sinkFigures show what keeping costs: the state's commits while a crawl
// goes, and the tables at its end. Every fourth site publishes here.
func sinkFigures(ctx context.Context, o Options) (_ []Figure, err error) {
	dir, err := os.MkdirTemp("", "agentcensus-bench-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var commits, committing atomic.Int64
	crawl, err := sink.OpenCrawl(ctx, sink.Options{
		Out: dir, Kind: sink.Adhoc, Now: time.Now, Simulated: true, List: sink.ListInfo{Source: "bench", Entries: int64(o.Sites)},
		Committed: func(took time.Duration) { commits.Add(1); committing.Add(int64(took)) },
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, crawl.Close()) }()

	const every = 4
	results := make([]pipeline.Result, 0, every)
	collect := resultsOf{&results}
	x := &canned{cardEvery: every, card: sampleCard(20_000)}
	if err := pipeline.Run(ctx, pipeline.Config{
		Sites: madeUp(every), Open: func() pipeline.Exchange { return x }, Sink: collect, Slots: 1, Tokens: []string{"agentcensus"},
	}); err != nil {
		return nil, err
	}
	before, err := ownCPU()
	if err != nil {
		return nil, err
	}
	begun, cards := time.Now(), int64(0)
	for first := 1; first <= o.Sites; first += sinkGroup {
		last := min(first+sinkGroup-1, o.Sites)
		var ranks []int64
		for rank := first; rank <= last; rank++ {
			ranks = append(ranks, int64(rank))
		}
		if err := crawl.Begin(ctx, ranks); err != nil {
			return nil, err
		}
		for _, rank := range ranks {
			r := results[rank%every]
			r.Site.Rank = rank
			if r.Card != nil {
				cards++
			}
			if err := crawl.Settle(ctx, record(r)); err != nil {
				return nil, err
			}
		}
	}
	settled := time.Since(begun)
	after, err := ownCPU()
	if err != nil {
		return nil, err
	}
	state, err := stateSize(dir)
	if err != nil {
		return nil, err
	}
	begun = time.Now()
	sum, err := crawl.Finish(ctx, sink.Facts{})
	if err != nil {
		return nil, err
	}
	tables := time.Since(begun)
	table, err := os.Stat(sink.TablePath(dir, sink.TableName[sink.Card](), string(sink.Adhoc), crawl.Date()))
	if err != nil {
		return nil, err
	}
	sites := int64(o.Sites)
	return []Figure{
		shown("sink: settling, a quarter of the sites with a card of 20 KB", "%.0f sites/s, %.1f µs CPU/site",
			float64(sites)/settled.Seconds(), perSite(after-before, sites)*1e6),
		shown("sink: commits of the state", "%d, %.2f ms each, %.1f µs/site", commits.Load(),
			time.Duration(committing.Load()/max(1, commits.Load())).Seconds()*1e3, perSite(time.Duration(committing.Load()), sites)*1e6),
		shown("sink: state file", "%.0f bytes/card", float64(state)/float64(max(1, cards))),
		shown("sink: writing the tables", "%.0f cards/s, %.0f bytes/card", float64(sum.Crawl.Cards)/tables.Seconds(),
			float64(table.Size())/float64(max(1, sum.Crawl.Cards))),
	}, nil
}

// resultsOf collects results, one goroutine at a time.
type resultsOf struct{ to *[]pipeline.Result }

func (resultsOf) Begin(context.Context, []pipeline.Site) error { return nil }

func (r resultsOf) Settle(_ context.Context, one pipeline.Result) error {
	*r.to = append(*r.to, one)
	return nil
}
