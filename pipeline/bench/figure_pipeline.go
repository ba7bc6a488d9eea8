package bench

import (
	"context"
	"fmt"
	"slices"
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
	var out []Figure
	var costs []float64
	for _, n := range []int{o.Million / 100, o.Million / 10, o.Million} {
		var runs []Run
		for range o.Rounds {
			r, err := start(ctx, roleInMemory, Task{
				Sites: n, GC: o.GC, CardEvery: cardEvery, Discard: true, Profile: o.profileOf(fmt.Sprintf("pipeline-%d", n)),
			}, nil)
			if err != nil {
				return nil, err
			}
			runs = append(runs, r)
		}
		cost := medianOf(runs, func(r Run) float64 { return perSite(r.Own, r.Sites) * 1e6 })
		wall := medianOf(runs, func(r Run) float64 { return perSite(r.Wall, r.Sites) * 1e6 })
		o.logf("  %d sites: %.1f µs CPU/site, %.1f µs wall/site (load %s)", n, cost, wall, load())
		costs = append(costs, cost)
		out = append(out, atMost(fmt.Sprintf("pipeline's own CPU per site, %d sites (wall %.1f µs)", n, wall), cost, ownLimit, " µs"))
	}
	return append(out, atMost("pipeline's own CPU: dearest size / cheapest", slices.Max(costs)/slices.Min(costs), linearLimit, "")), nil
}
