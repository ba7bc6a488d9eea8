package bench

import (
	"context"
	"fmt"

	"agentcensus/pipeline/simweb"
)

// deadShare of the names in deadFigures never answer.
const deadShare = 0.15

// rateFigures compare the rate with that of the polite loop, with latency.
func rateFigures(ctx context.Context, o Options) ([]Figure, error) {
	return compareRates(ctx, o, "rate", 0, o.Delayed, 1.0)
}

// deadFigures compare the rate where many sites are black holes.
func deadFigures(ctx context.Context, o Options) ([]Figure, error) {
	return compareRates(ctx, o, "dead", deadShare, o.Dead, 1.1)
}

func compareRates(ctx context.Context, o Options, figure string, dead float64, sites int, wanted float64) ([]Figure, error) {
	return within(ctx, webConfig{Profile: simweb.Plain, Latency: answerLatency, Handshake: handshakeLatency}, func(w *web) ([]Figure, error) {
		w.Reach.DeadShare = dead
		runs, err := o.rounds(ctx, w, []contender{
			{roleCrawler, o.GC, "crawler"},
			{rolePolite, GC{}, "polite signing loop"},
		}, sites, figure)
		if err != nil {
			return nil, err
		}
		name := "rate, with latency"
		if dead > 0 {
			name = fmt.Sprintf("rate, with latency and %.0f %% black holes", 100*dead)
		}
		out := []Figure{
			atLeast(name+": x polite signing loop", medianRatio(runs[0], runs[1], sitesPerSecond), wanted, ""),
			shown(name+": crawler, loop", "%.0f, %.0f sites/s", medianOf(runs[0], sitesPerSecond), medianOf(runs[1], sitesPerSecond)),
		}
		if dead > 0 {
			// Without a limit: at the end of a list the last dials hang while
			// the other slots have nothing to ask, which tells in a short one.
			out = append(out, shown(fmt.Sprintf("slots, with %.0f %% black holes: (request time at the server + hanging dials) / (%d x wall), %d sites: crawler, loop",
				100*dead, slots, sites), "%.3f, %.3f", medianOf(runs[0], slotsUsed), medianOf(runs[1], slotsUsed)))
		}
		return out, nil
	})
}
