package bench

import (
	"context"
	"fmt"

	"agentcensus/pipeline/simweb"
)

// cpuFigures compare what a site costs each client where the web answers at
// once, and show their peak memory.
func cpuFigures(ctx context.Context, o Options) ([]Figure, error) {
	return within(ctx, webConfig{Profile: simweb.Plain}, func(w *web) ([]Figure, error) {
		cs := []contender{
			{roleCrawler, o.GC, "crawler"},
			{roleUnsigned, GC{}, "unsigned loop"},
			{rolePolite, GC{}, "polite signing loop"},
			{roleBare, GC{}, "bare TLS, three GETs"},
			{rolePolite, o.GC, "polite loop, crawler's GC"},
		}
		runs, err := o.rounds(ctx, w, cs, o.Sites, "cpu")
		if err != nil {
			return nil, err
		}
		out := []Figure{
			atMost("CPU per site: x unsigned loop", medianRatio(runs[0], runs[1], cpuPerSite), 0.95, ""),
			atMost("CPU per site: x polite signing loop", medianRatio(runs[0], runs[2], cpuPerSite), 0.85, ""),
			shown("CPU per site: bare TLS x unsigned loop", "%.3f", medianRatio(runs[3], runs[1], cpuPerSite)),
			shown("CPU per site: x polite loop with the crawler's GC", "%.3f", medianRatio(runs[0], runs[4], cpuPerSite)),
		}
		for i, c := range cs {
			out = append(out, shown("  "+c.name, "%.3f ms/site, %.0f sites/s", medianOf(runs[i], cpuPerSite), medianOf(runs[i], sitesPerSecond)))
		}
		for i, c := range cs {
			out = append(out, shown(fmt.Sprintf("peak memory, %d sites over sockets: %s", o.Sites, c.name), "%.1f MB",
				medianOf(runs[i], func(r Run) float64 { return mb(r.Peak) })))
		}
		return append(out, shown("CPU: sites, rounds", "%s", fmt.Sprintf("%d, %d", o.Sites, o.Rounds))), nil
	})
}
