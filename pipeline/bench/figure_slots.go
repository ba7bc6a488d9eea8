package bench

import (
	"context"
	"fmt"

	"agentcensus/pipeline/simweb"
)

// slotFigures say whether the crawl is limited by its slots and by nothing
// else: the time that requests were at the server, handshakes included, of
// the time that all slots had.
func slotFigures(ctx context.Context, o Options) ([]Figure, error) {
	return within(ctx, webConfig{Profile: simweb.Plain, Latency: answerLatency, Handshake: handshakeLatency}, func(w *web) ([]Figure, error) {
		s, err := o.serve(ctx, w, contender{roleCrawler, o.GC, "crawler"}, o.Sites, "slots")
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("slots: request time at the server / (%d x wall), %d sites", slots, o.Sites)
		return []Figure{
			atLeast(name, slotUse(s.Server.SlotTime, s.Wall, slots), 0.98, ""),
			atMost("slots: requests at the server at once", float64(s.Server.Peak), slots, ""),
			shown("slots: rate and CPU of the crawler", "%.0f sites/s, %.2f ms/site", sitesPerSecond(s.Run), cpuPerSite(s.Run)),
		}, nil
	})
}
