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

// sinkEvery is how many sites come to one that publishes in sinkFigures.
const sinkEvery = 4

// sinkFigures show what keeping costs: the state's commits while a crawl
// goes, and the tables at its end. Finding what is kept is not counted.
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

	var settled, own time.Duration
	cards := int64(0)
	if err := crawl.Begin(ctx, ranksOf(1, o.Sites)); err != nil {
		return nil, err
	}
	for first := 1; first <= o.Sites; first += sinkGroup {
		results, err := found(ctx, first, o.Sites)
		if err != nil {
			return nil, err
		}
		before, err := ownCPU()
		if err != nil {
			return nil, err
		}
		begun := time.Now()
		for _, r := range results {
			if r.Card != nil {
				cards++
			}
			if err := crawl.Settle(ctx, record(r)); err != nil {
				return nil, err
			}
		}
		// When the next have begun, what has been settled is on the disk too,
		// and nothing is left to do while those are found.
		if err := crawl.Begin(ctx, ranksOf(first+sinkGroup, o.Sites)); err != nil {
			return nil, err
		}
		settled += time.Since(begun)
		after, err := ownCPU()
		if err != nil {
			return nil, err
		}
		own += after - before
	}
	state, err := stateSize(dir)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
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
			float64(sites)/settled.Seconds(), perSite(own, sites)*1e6),
		shown("sink: commits of the state", "%d, %.2f ms each, %.1f µs/site", commits.Load(),
			time.Duration(committing.Load()/max(1, commits.Load())).Seconds()*1e3, perSite(time.Duration(committing.Load()), sites)*1e6),
		shown("sink: state file", "%.0f bytes/card", float64(state)/float64(max(1, cards))),
		shown("sink: writing the tables", "%.0f cards/s, %.0f bytes/card", float64(sum.Crawl.Cards)/tables.Seconds(),
			float64(table.Size())/float64(max(1, sum.Crawl.Cards))),
	}, nil
}

// ranksOf are the ranks of the group that begins with first, of a list of n
// sites: none behind its end.
func ranksOf(first, n int) []int64 {
	var ranks []int64
	for rank := first; rank <= min(first+sinkGroup-1, n); rank++ {
		ranks = append(ranks, int64(rank))
	}
	return ranks
}

// found is what a crawl of the group that begins with first finds.
func found(ctx context.Context, first, n int) ([]pipeline.Result, error) {
	x := &canned{cardEvery: sinkEvery}
	var results []pipeline.Result
	err := pipeline.Run(ctx, pipeline.Config{
		Sites: func(yield func(pipeline.Site, error) bool) {
			for _, rank := range ranksOf(first, n) {
				if !yield(pipeline.Site{Rank: rank, Domain: siteName(int(rank))}, nil) {
					return
				}
			}
		},
		Open: func() pipeline.Exchange { return x }, Sink: resultsOf{&results}, Slots: 1, Tokens: []string{"agentcensus"},
	})
	return results, err
}

// resultsOf collects results, one goroutine at a time.
type resultsOf struct{ to *[]pipeline.Result }

func (resultsOf) Begin(context.Context, []pipeline.Site) error { return nil }

func (r resultsOf) Settle(_ context.Context, one pipeline.Result) error {
	*r.to = append(*r.to, one)
	return nil
}
