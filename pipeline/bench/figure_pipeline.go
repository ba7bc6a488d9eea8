package bench

import (
	"context"
	"fmt"
)

// Limits of the pipeline's own cost: a site's CPU in microseconds, and how
// much dearer than at the cheapest size it may be at any, which is what
// linear in the list means, noise of short runs included.
const (
	ownLimit    = 30
	linearLimit = 1.5
)

// pipelineFigures are the pipeline's own CPU a site at growing lists, over an
// exchange in memory and with results dropped.
func pipelineFigures(ctx context.Context, o Options) ([]Figure, error) {
	sizes := []int{o.Million / 100, o.Million / 10, o.Million}
	crawl := func(n int, profile string) (Run, error) {
		r, err := start(ctx, roleInMemory, Task{Sites: n, GC: o.GC, CardEvery: cardEvery, Discard: true, Profile: profile}, nil)
		if err == nil {
			o.logf("  %d sites: %.1f µs CPU/site, %.1f µs wall/site (load %s)", n, ownCost(r), wallCost(r), load())
		}
		return r, err
	}
	// Not counted: the first after a pause may be slower than those that follow it.
	o.logf("  to warm up:")
	if _, err := crawl(sizes[1], ""); err != nil {
		return nil, err
	}
	runs := make([][]Run, len(sizes))
	for range o.Rounds {
		for i, n := range sizes {
			r, err := crawl(n, o.profileOf(fmt.Sprintf("pipeline-%d", n)))
			if err != nil {
				return nil, err
			}
			runs[i] = append(runs[i], r)
		}
	}
	var out []Figure
	for i, n := range sizes {
		out = append(out, atMost(fmt.Sprintf("pipeline's own CPU per site, %d sites (wall %.1f µs)", n, medianOf(runs[i], wallCost)),
			medianOf(runs[i], ownCost), ownLimit, " µs"))
	}
	return append(out, atMost("pipeline's own CPU: dearest size / cheapest of a round", medianSpread(runs, ownCost), linearLimit, "")), nil
}

// ownCost is the CPU of the crawl itself a site, in microseconds.
func ownCost(r Run) float64 { return perSite(r.Own, r.Sites) * 1e6 }

// wallCost is the time of the crawl a site, in microseconds.
func wallCost(r Run) float64 { return perSite(r.Wall, r.Sites) * 1e6 }
