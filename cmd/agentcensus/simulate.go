package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"agentcensus/pipeline"
	"agentcensus/pipeline/simweb"
	"agentcensus/sink"
	"agentcensus/sources"
)

// webFlags say which simulated web is crawled.
type webFlags struct {
	seed    uint64
	epoch   int
	profile string
	latency time.Duration
}

func (f *webFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.Uint64Var(&f.seed, "seed", 1, "which simulated web")
	fl.IntVar(&f.epoch, "epoch", 0, "the simulated web at a later time: some publishers have come, gone or changed")
	fl.StringVar(&f.profile, "profile", simweb.Measured, "how often the simulated web does what: measured, flat or plain")
	fl.DurationVar(&f.latency, "latency", 0, "median time to an answer on the simulated web")
	oneOf(c, "profile", simweb.Measured, simweb.Flat, simweb.Plain)
}

// check refuses flags that would say nothing: those of a simulated web in a
// crawl of another, and the other way round.
func (f *webFlags) check(given *pflag.FlagSet, simulated bool) error {
	for _, name := range []string{"seed", "epoch", "profile", "latency"} {
		if given.Changed(name) && !simulated {
			return usagef("--%s is of the simulated web: add --simulate", name)
		}
	}
	for _, name := range []string{"resolver", "connect-to", "ca-file", "allow-address"} {
		if given.Changed(name) && simulated {
			return usagef("--%s does not go with --simulate, which brings a web of its own", name)
		}
	}
	if profiles := []string{simweb.Measured, simweb.Flat, simweb.Plain}; !slices.Contains(profiles, f.profile) {
		return usagef("--profile %q: write measured, flat or plain", f.profile)
	}
	if f.latency < 0 {
		return usagef("--latency %s: give a time, such as 80ms", f.latency)
	}
	return nil
}

// web is the web that the flags describe.
func (f *webFlags) web() simweb.Config {
	return simweb.Config{
		Seed: f.seed, Epoch: f.epoch, Profile: f.profile, Log: simweb.LogCounters,
		Latency: simweb.Lognormal{Median: f.latency, Sigma: latencySigma},
	}
}

// addTo adds what must not change while a crawl of the web goes on.
func (f *webFlags) addTo(m map[string]string) {
	m["seed"], m["profile"] = fmt.Sprint(f.seed), f.profile
	if f.epoch != 0 {
		m["epoch"] = fmt.Sprint(f.epoch)
	}
}

// latencySigma is the spread of the simulated web's latencies.
const latencySigma = 0.6

// simulate starts the simulated web and diverts every request to it.
func (r *runner) simulate(ctx context.Context, c simweb.Config) error {
	c.Bot, c.Verify = r.identity.tokens[0], r.identity.verify()
	w, err := startSimweb(ctx, c)
	if err != nil {
		return err
	}
	r.simulated = w
	r.web = web{dial: w.Dial, roots: w.Roots(), resolvers: w.Resolvers()}
	return nil
}

// startSimweb starts a simulated web; one that flags describe wrongly is the
// caller's error.
func startSimweb(ctx context.Context, c simweb.Config) (*simweb.Web, error) {
	w, err := simweb.Start(ctx, c)
	var system syscall.Errno
	switch {
	case errors.As(err, &system):
		return nil, whenItPasses(fmt.Errorf("start the simulated web: %w", err))
	case err != nil:
		return nil, usagef("the simulated web: %w", err)
	}
	return w, nil
}

// madeUp is a list of n names of the simulated web.
func (r *runner) madeUp(n int64, seed uint64) *listing {
	return &listing{
		info: sink.ListInfo{Source: "simulated", ListID: fmt.Sprintf("seed-%d", seed), Entries: n},
		sites: func(yield func(pipeline.Site, error) bool) {
			for rank, name := range r.simulated.Names(int(n)) {
				if !yield(siteOf(rank, name), nil) {
					return
				}
			}
		},
		discard: func() {},
	}
}

// siteOf is an entry as sources would read it.
func siteOf(rank int64, name string) pipeline.Site {
	domain, err := sources.Normalise(name)
	var bad *sources.NameError
	if errors.As(err, &bad) {
		return pipeline.Site{Rank: rank, Domain: name, Invalid: bad.Reason}
	}
	return pipeline.Site{Rank: rank, Domain: domain}
}
