package bench

import (
	"context"
	"fmt"

	"agentcensus/pipeline/simweb"
)

// slotRounds bounds the rounds of slotFigures, as one takes minutes.
const slotRounds = 3

// slotFigures say whether the crawl is limited by its slots and by nothing
// else: the time that requests were at the server, handshakes included, of
// the time that all slots had.
func slotFigures(ctx context.Context, o Options) ([]Figure, error) {
	o.Rounds = min(o.Rounds, slotRounds)
	return within(ctx, webConfig{Profile: simweb.Plain, Latency: answerLatency, Handshake: handshakeLatency}, func(w *web) ([]Figure, error) {
		all, err := o.rounds(ctx, w, []contender{{roleCrawler, o.GC, "crawler"}}, o.Sites, "slots")
		if err != nil {
			return nil, err
		}
		runs := all[0]
		atOnce := 0
		for _, r := range runs {
			atOnce = max(atOnce, r.Server.Peak)
		}
		name := fmt.Sprintf("slots: request time at the server / (%d x wall), %d sites", slots, o.Sites)
		return []Figure{
			atLeast(name, medianOf(runs, slotsUsed), 0.98, ""),
			shown("slots: the same in each round", "%s", eachOf(runs, slotsUsed)),
			atMost("slots: requests at the server at once, any round", float64(atOnce), slots, ""),
			shown("slots: rate and CPU of the crawler", "%.0f sites/s, %.2f ms/site",
				medianOf(runs, sitesPerSecond), medianOf(runs, cpuPerSite)),
		}, nil
	})
}
