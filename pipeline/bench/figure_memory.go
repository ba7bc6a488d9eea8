package bench

import (
	"context"
	"fmt"
)

// cardEvery is how many sites come to one that publishes: 5,000 of a million.
const cardEvery = 200

// Limits of the peak memory of the longest run, in MB.
const (
	memoryLimit  = 100
	memoryGrowth = 24
)

// memoryFigures say whether memory grows with the list: the peak of a crawl
// in memory, its state and tables included, at a tenth of the list and at the
// end. It is one run, as one takes minutes. They show besides what a site costs with state and sink.
func memoryFigures(ctx context.Context, o Options) ([]Figure, error) {
	var early, late Sample
	run, err := start(ctx, roleInMemory, Task{
		Sites: o.Million, GC: o.GC, CardEvery: cardEvery, SampleSites: o.Million / 10, Profile: o.profileOf("memory"),
	}, func(s Sample) {
		if early.Sites == 0 {
			early = s
		}
		late = s
		o.logf("  %v", s)
	})
	if err != nil {
		return nil, err
	}
	return []Figure{
		atMost(fmt.Sprintf("peak memory, %d names, %d cards of 20 KB", o.Million, o.Million/cardEvery), mb(run.Peak), memoryLimit, " MB"),
		atMost(fmt.Sprintf("peak memory: above that at %d", early.Sites), mb(run.Peak-early.Peak), memoryGrowth, " MB"),
		shown(fmt.Sprintf("peak memory: at %d, before the tables, at the end", early.Sites),
			"%.1f, %.1f, %.1f MB", mb(early.Peak), mb(late.Peak), mb(run.Peak)),
		shown(fmt.Sprintf("pipeline with state and sink, %d sites", run.Sites), "%.1f µs CPU/site, %.0f µs wall/site, tables in %.1f s",
			perSite(run.Own, run.Sites)*1e6, perSite(run.Wall, run.Sites)*1e6, run.Tables.Seconds()),
	}, nil
}
