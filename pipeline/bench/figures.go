package bench

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agentcensus/pipeline/simweb"
)

// Options say how much is measured.
type Options struct {
	Rounds  int // of each client
	Sites   int // of the zero-latency and the slots runs
	Delayed int // sites of a run with latency, of which rates are taken
	Dead    int // sites of a run with black holes
	Million int // names of the longest run in memory
	GC      GC  // of the crawler
	Profile string
	Log     io.Writer // what is being done
}

// Full is what the table of the README is made with.
func Full() Options {
	return Options{Rounds: 5, Sites: 20_000, Delayed: 5_000, Dead: 2_000, Million: 1_000_000, GC: crawlerGC, Log: io.Discard}
}

// Quick is the same program in about a minute; its figures mean little.
func Quick() Options {
	o := Full()
	o.Rounds, o.Sites, o.Delayed, o.Dead, o.Million = 1, 1_000, 500, 300, 50_000
	return o
}

// figures by name, in the order of the table.
var figures = []struct {
	name    string
	measure func(context.Context, Options) ([]Figure, error)
}{
	{"slots", slotFigures},
	{"rate", rateFigures},
	{"dead", deadFigures},
	{"cpu", cpuFigures},
	{"memory", memoryFigures},
	{"pipeline", pipelineFigures},
	{"signature", signatureFigures},
	{"sink", sinkFigures},
	{"parse", parseFigures},
}

// Names are the figures that can be measured alone.
func Names() []string {
	var names []string
	for _, f := range figures {
		names = append(names, f.name)
	}
	return names
}

// Measure takes the figures of the given names, all when there are none.
func Measure(ctx context.Context, o Options, only []string) ([]Figure, error) {
	for _, name := range only {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("no figure %q: there are %s, million", name, strings.Join(Names(), ", "))
		}
	}
	var all []Figure
	for _, f := range figures {
		if len(only) > 0 && !slices.Contains(only, f.name) {
			continue
		}
		o.logf("%s (load %s)", f.name, load())
		fs, err := f.measure(ctx, o)
		if err != nil {
			return all, fmt.Errorf("%s: %w", f.name, err)
		}
		all = append(all, fs...)
	}
	return all, nil
}

// Conditions are what the figures are taken under. An ed25519.Sign that takes
// longer than on the idle machine says that CPU times do too, and by how much.
func Conditions(o Options) (string, error) {
	sign, err := speed()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s; load %s, ed25519.Sign %.1f µs; crawler %v, web %v, yardsticks %v unless said",
		machine(), load(), sign.Seconds()*1e6, o.GC, webGC, GC{}), nil
}

func (o Options) logf(format string, a ...any) {
	fmt.Fprintf(o.Log, time.Now().Format("15:04:05 ")+format+"\n", a...) //nolint:errcheck // only a courtesy
}

// profileOf is where a run's profile goes; only the crawler's are taken.
func (o Options) profileOf(name string) string {
	if o.Profile == "" {
		return ""
	}
	return filepath.Join(o.Profile, name+".pprof")
}

// The latencies of figures 1 and 2: as measured on the web, a median of 80 ms
// to an answer, and two such round trips to a handshake.
var (
	answerLatency    = simweb.Lognormal{Median: 80 * time.Millisecond, Sigma: 0.6}
	handshakeLatency = simweb.Lognormal{Median: 160 * time.Millisecond, Sigma: 0.6}
)

// contender is a client in rounds with others.
type contender struct {
	role string
	gc   GC
	name string
}

// serve runs a client against a web whose counters are set to zero before.
func (o Options) serve(ctx context.Context, w *web, c contender, sites int, figure string) (Run, error) {
	t := Task{Sites: sites, Reach: w.Reach, GC: c.gc}
	if c.role == roleCrawler {
		t.Profile = o.profileOf(figure)
	}
	if _, err := w.ask(orderForget); err != nil {
		return Run{}, err
	}
	run, err := start(ctx, c.role, t, nil)
	if err != nil {
		return Run{}, err
	}
	run.Server, err = w.ask(orderStats)
	o.logf("  %-26s %7d sites %8d requests in %8v: %6.0f sites/s, %.3f ms CPU/site, peak %.1f MB, %d at once, slots used %.3f, %d failed (load %s)",
		c.name, run.Sites, run.Requests, run.Wall.Round(time.Millisecond), sitesPerSecond(run), cpuPerSite(run), mb(run.Peak),
		run.Server.Peak, slotsUsed(run), run.Failed, load())
	return run, err
}

// rounds runs the contenders in turn, o.Rounds times. The runs are by
// contender, in the order of the rounds.
func (o Options) rounds(ctx context.Context, w *web, cs []contender, sites int, figure string) ([][]Run, error) {
	runs := make([][]Run, len(cs))
	for range o.Rounds {
		for i, c := range cs {
			r, err := o.serve(ctx, w, c, sites, figure)
			if err != nil {
				return nil, err
			}
			runs[i] = append(runs[i], r)
		}
	}
	return runs, nil
}

// within runs f with a web and closes it.
func within(ctx context.Context, c webConfig, f func(*web) ([]Figure, error)) (_ []Figure, err error) {
	w, err := startWeb(ctx, c)
	if err != nil {
		return nil, err
	}
	fs, err := f(w)
	if closed := w.close(); err == nil {
		err = closed
	}
	return fs, err
}
