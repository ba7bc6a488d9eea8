package bench

import (
	"context"
	"fmt"
	"io"
	"time"

	"agentcensus/pipeline/simweb"
)

// Million crawls the longest list in memory and writes the process as it goes
// to w, ten times and at the end.
func Million(ctx context.Context, o Options, w io.Writer) error {
	if err := seriesHead(w); err != nil {
		return err
	}
	run, err := start(ctx, roleInMemory, Task{
		Sites: o.Million, GC: o.GC, CardEvery: cardEvery, SampleSites: max(1, o.Million/10), Profile: o.profileOf("million"),
	}, func(s Sample) { fmt.Fprintln(w, s) }) //nolint:errcheck // a missing line shows
	if err != nil {
		return err
	}
	return seriesEnd(w, run)
}

// Sockets crawls a list file over sockets against a simulated web for so
// long, and writes the process as it goes to w.
func Sockets(ctx context.Context, o Options, list string, long time.Duration, latency time.Duration, w io.Writer) error {
	c := webConfig{Profile: simweb.Measured}
	if latency > 0 {
		c.Latency = simweb.Lognormal{Median: latency, Sigma: answerLatency.Sigma}
		c.Handshake = simweb.Lognormal{Median: 2 * latency, Sigma: answerLatency.Sigma}
	}
	_, err := within(ctx, c, func(web *web) ([]Figure, error) {
		if err := seriesHead(w); err != nil {
			return nil, err
		}
		run, err := start(ctx, roleCrawler, Task{
			List: list, Reach: web.Reach, GC: o.GC, For: long, Sample: max(time.Second, long/20), Profile: o.profileOf("sockets"),
		}, func(s Sample) { fmt.Fprintln(w, s) }) //nolint:errcheck // a missing line shows
		if err != nil {
			return nil, err
		}
		stats, err := web.ask(orderStats)
		if err != nil {
			return nil, err
		}
		if _, err := fmt.Fprintf(w, "at the server: %d requests, at most %d at once, slots used %.3f\n",
			stats.Requests, stats.Peak, slotUse(stats.SlotTime, run.Wall, slots)); err != nil {
			return nil, err
		}
		return nil, seriesEnd(w, run)
	})
	return err
}

func seriesEnd(w io.Writer, run Run) error {
	_, err := fmt.Fprintf(w, "%d sites in %v, %d requests, %v of CPU; tables written in %v; peak memory %.1f MiB\n",
		run.Sites, run.Wall.Round(time.Millisecond), run.Requests, run.CPU.Round(time.Millisecond),
		run.Tables.Round(time.Millisecond), mib(run.Peak))
	return err
}
