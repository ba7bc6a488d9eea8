package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"agentcensus/sink"
)

// recheckFlags are the flags of `agentcensus recheck`.
type recheckFlags struct {
	runFlags
	webFlags
	simulated bool
	// given are the names of the flags that stand on the command line.
	given map[string]bool
}

func newRecheckCommand(s streams) *cobra.Command {
	f := recheckFlags{given: make(map[string]bool)}
	c := &cobra.Command{
		Use:   "recheck",
		Short: "Ask the publishers of the latest monthly crawl again",
		Long: `recheck is the weekly crawl: it asks the publishers that the latest complete
monthly crawl under --out found, by the same rules, and writes beside the other
tables one row of 'checks' for each: whether it is up, and what changed since the
crawl before.

Up means only that a public address answered. So that nobody is blamed for an
outage here, configure 'canaries', URLs on origins of your own: they are asked
before and after, and whenever many publishers gave no answer. When no canary
answers the crawl stops, and the same command goes on with it.

Like crawl, it can be started every day: it begins this week's crawl, goes on
with one that was stopped, or says that it is complete.

Exit statuses: 0 complete, or the first monthly crawl is not; 1 failed; 2 wrong
usage; 3 stopped and resumable, or another crawl holds the output directory.`,
		Example: `  agentcensus recheck --out census
  agentcensus crawl --simulate 10000 --kind monthly && agentcensus recheck --simulate --epoch 1`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.webFlags.check(c.Flags(), f.simulated); err != nil {
				return err
			}
			for _, name := range []string{"seed", "profile"} {
				f.given[name] = c.Flags().Changed(name)
			}
			if f.simulated && !c.Flags().Changed("out") {
				f.out = simulatedOut
			}
			r, err := newRunner(s, f.runFlags, sink.Weekly, f.simulated)
			if err != nil {
				return err
			}
			defer r.close()
			return f.recheck(c.Context(), r)
		},
	}
	fl := c.Flags()
	fl.BoolVar(&f.simulated, "simulate", false, "ask the simulated web that the monthly crawl was of")
	f.webFlags.add(c)
	f.runFlags.add(c)
	return c
}

// recheck is the weekly crawl of a runner.
func (f *recheckFlags) recheck(ctx context.Context, r *runner) error {
	unfinished, over := r.unfinished()
	if over != nil {
		return r.refused(over)
	}
	w, l, err := r.openWeekly(unfinished)
	if errors.Is(err, errTooEarly) {
		return r.nothingToDo(err)
	}
	if err != nil {
		return err
	}
	r.weekly = w
	if w.monthly != nil && w.monthly.row.Simulated && !f.simulated && !r.notReal() {
		return usagef("the monthly crawl of %s is of a simulated web; add --simulate", w.monthly.Crawl)
	}
	if f.simulated && r.simulated == nil {
		if err := f.follow(w.monthly); err != nil {
			return err
		}
		if err := r.simulate(ctx, f.web()); err != nil {
			return err
		}
	}
	return r.run(ctx, l, f.settings(r))
}

// follow takes the simulated web of the monthly crawl where the flags do not
// name another.
func (f *recheckFlags) follow(monthly *pastCrawl) error {
	if monthly == nil {
		return nil
	}
	var began struct {
		Seed    uint64 `json:"seed,string"`
		Profile string `json:"profile"`
	}
	if err := json.Unmarshal([]byte(monthly.row.Settings), &began); err != nil {
		return fmt.Errorf("read the settings of the monthly crawl of %s: %w", monthly.Crawl, err)
	}
	if !f.given["seed"] {
		f.seed = began.Seed
	}
	if !f.given["profile"] && began.Profile != "" {
		f.profile = began.Profile
	}
	return nil
}

func (f *recheckFlags) settings(r *runner) map[string]string {
	m := r.settings()
	if f.simulated {
		f.addTo(m)
	}
	return m
}

// weekly is what a weekly crawl has that others have not.
type weekly struct {
	publishers publishers
	// monthly is the crawl that the publishers are of; nil when it is no more
	// there.
	monthly *pastCrawl
	// before is how the crawls before this one found the publishers.
	before history
	// still are the publishers of a monthly crawl that is newer than that of the
	// list; nil when there is none.
	still map[string]bool
	// canaries is nil when none are configured.
	canaries canaries
	// covered says of whom no row is to be kept.
	covered func(site string) bool
}

// errTooEarly says that there are no publishers to ask yet.
var errTooEarly = errors.New("the first monthly crawl is not complete, whose publishers are to be asked")

// openWeekly finds the publishers to ask and what is known of them. An
// unfinished crawl goes on with the list it began with, whatever was completed
// since.
func (r *runner) openWeekly(unfinished *sink.Header) (*weekly, *listing, error) {
	past, err := completeCrawls(r.flags.out)
	if err != nil {
		return nil, nil, fmt.Errorf("look for complete crawls: %w", err)
	}
	latest := past.latest(sink.Monthly)
	w := &weekly{monthly: latest, covered: func(site string) bool { return r.optOut.Covers(site) || r.suppressed.Covers(site) }}
	begun := r.now()
	switch {
	case unfinished != nil:
		w.monthly, begun = past.find(sink.Monthly, unfinished.List.ListID), unfinished.Started
	case latest == nil:
		kinds, err := sink.UnfinishedKinds(r.flags.out)
		if err != nil {
			return nil, nil, err
		}
		if slices.Contains(kinds, sink.Monthly) { // cron's recheck comes before the first month's end
			return nil, nil, errTooEarly
		}
		return nil, nil, usagef("there is no complete monthly crawl under %s whose publishers could be asked: 'agentcensus crawl --kind monthly' makes one", r.flags.out)
	}
	l, err := w.open(r, unfinished)
	if err != nil {
		return nil, nil, err
	}
	if w.canaries, err = openCanaries(r.config.Canaries, w.publishers, r.optOut.Covers); err != nil {
		return nil, nil, err
	}
	if w.canaries == nil {
		r.log.Warn("no canaries are configured: only many publishers in a row without an answer will tell an outage here from theirs")
	}
	if w.before, err = readHistory(r.flags.out, past, w.monthly, begun, w.publishers); err != nil {
		return nil, nil, err
	}
	if latest != nil && unfinished != nil && latest.Crawl > unfinished.List.ListID {
		if w.still, err = w.publishers.among(r.flags.out, latest); err != nil {
			return nil, nil, err
		}
	}
	return w, l, nil
}

// open reads the list of publishers.
func (w *weekly) open(r *runner, unfinished *sink.Header) (*listing, error) {
	path := sink.ListCopyPath(r.flags.out, sink.Weekly)
	l := &listing{discard: func() {}}
	if unfinished != nil {
		kept, err := readPublishers(path)
		if err != nil {
			return nil, fmt.Errorf("read the list that the unfinished crawl began with: %w", err)
		}
		w.publishers = kept
	}
	date := ""
	switch {
	case w.publishers != nil:
		date = unfinished.List.ListID
	case w.monthly == nil:
		return nil, fmt.Errorf("the monthly crawl of %s, whose publishers the unfinished crawl asks, is gone; --abandon begins a new one", unfinished.List.ListID)
	default: // a new crawl, or one that was killed before it kept its list
		all, err := publishersOf(r.flags.out, w.monthly)
		if err != nil {
			return nil, err
		}
		date = w.monthly.Crawl
		w.publishers = all.without(w.covered)
		if left := len(all) - len(w.publishers); left > 0 {
			r.log.Info("publishers that asked to be left alone, or of whom nothing is kept, are not asked", "publishers", left)
		}
		l.keep = func() error { return writePublishers(path, w.publishers) }
	}
	l.info = sink.ListInfo{Source: sourceCards, ListID: date, SHA256: w.publishers.sha256(), Entries: int64(len(w.publishers))}
	if unfinished != nil && w.publishers.anyRemoved() {
		// Some were removed on request since: the list is no more what it was.
		l.info.SHA256 = unfinished.List.SHA256
	}
	l.sites, l.rankOf = w.publishers.sites, w.publishers.rankOf
	return l, nil
}

// hasCanaries is for a crawl of any kind: others than weekly ones have none.
func (w *weekly) hasCanaries() bool { return w != nil && w.canaries != nil }

// begin joins the crawl once its exchange is open, and asks the canaries.
func (w *weekly) begin(ctx context.Context, crawl *sink.Crawl, x *exchange, k *keeper) error {
	k.check = (&checker{confirm: x.resolver.Confirm, before: w.before}).check
	if w.canaries == nil {
		return nil
	}
	k.vouch = func(ctx context.Context) error { return w.canaries.vouch(ctx, x, crawl) }
	return k.vouch(ctx)
}

// missing is the row of a publisher whose site was interrupted.
func (w *weekly) missing(entry int64) (sink.Check, bool) {
	p := w.publishers[entry-1]
	if p.removed() || w.covered(p.site) {
		return sink.Check{}, false
	}
	return interruptedCheck(p), true
}

// omit says whether a row must not be published after all: a newer monthly
// crawl found its site without a card, and so did this one (P10).
func (w *weekly) omit(c sink.Check) bool {
	return w.still != nil && !w.still[c.Site] && !holdsCard(c)
}
