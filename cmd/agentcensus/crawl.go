package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"agentcensus/pipeline"
	"agentcensus/sink"
	"agentcensus/sources"
)

// crawlFlags are the flags of `agentcensus crawl`.
type crawlFlags struct {
	runFlags
	webFlags
	list     string
	kind     string
	limit    int64
	simulate int64
	// simulated says that --simulate was given.
	simulated bool
	replace   bool
}

func newCrawlCommand(s streams) *cobra.Command {
	var f crawlFlags
	c := &cobra.Command{
		Use:   "crawl",
		Short: "Walk a list of domains and keep the cards they publish",
		Long: `crawl walks a list of domains. It asks each site for /robots.txt, then for
/.well-known/agent-card.json and, if that gave no card, for
/.well-known/agent.json, and writes cards and totals to Parquet under --out.

The same command line starts a crawl, goes on with one that was stopped or
killed and, when this month's crawl (--kind monthly) is complete, says so: cron
can run it every day. Ctrl-C or SIGTERM finishes what is open and stops; a
second one stops at once. Either way the same command goes on.

Exit statuses: 0 complete; 1 failed; 2 wrong usage; 3 stopped and resumable, or
another crawl holds the output directory.`,
		Example: `  agentcensus crawl --simulate 10000
  agentcensus crawl --kind monthly --out census
  agentcensus crawl --list names.txt --out mine --limit 100
  zcat top-1m.csv.gz | agentcensus crawl --list - --out census`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			f.simulated = c.Flags().Changed("simulate")
			if err := f.webFlags.check(c.Flags(), f.simulated); err != nil {
				return err
			}
			if f.simulated && !c.Flags().Changed("out") {
				f.out = simulatedOut
			}
			return runCrawl(c.Context(), s, f)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.list, "list", "", "the `list`: tranco, tranco:ID, a file (rank,domain or one name a line; plain, .gz, .zst, .zip) or - for standard input (default tranco)")
	fl.Int64Var(&f.limit, "limit", 0, "crawl only the first `N` entries (not with --kind monthly)")
	fl.StringVar(&f.kind, "kind", string(sink.Adhoc), "the `kind` of crawl: monthly or adhoc")
	fl.BoolVar(&f.replace, "replace", false, "let a second adhoc crawl of a day replace the first")
	fl.Int64Var(&f.simulate, "simulate", 0, "crawl a simulated web: the names of --list, else `N` made-up ones (10000 when N is left out)")
	fl.Lookup("simulate").NoOptDefVal = defaultSimulated
	oneOf(c, "kind", string(sink.Adhoc), string(sink.Monthly))
	f.webFlags.add(c)
	f.runFlags.add(c)
	return c
}

// Defaults of a simulated crawl.
const (
	defaultSimulated = "10000"
	simulatedOut     = "simulated"
)

// runCrawl is a crawl from its flags to its exit status.
func runCrawl(ctx context.Context, s streams, f crawlFlags) error {
	kind, err := f.check()
	if err != nil {
		return err
	}
	r, err := newRunner(s, f.runFlags, kind, f.simulated)
	if err != nil {
		return err
	}
	defer r.close()
	r.replace = f.replace
	unfinished, over := r.unfinished()
	if over != nil {
		return r.refused(over)
	}
	if f.simulated {
		if err := r.simulate(ctx, f.webFlags.web()); err != nil {
			return err
		}
	}
	l, err := f.open(ctx, r, unfinished)
	if err != nil {
		return err
	}
	return r.run(ctx, l, f.settings(r))
}

// check refuses flags that do not go together.
func (f *crawlFlags) check() (sink.Kind, error) {
	kind := sink.Kind(f.kind)
	switch {
	case kind == sink.Weekly:
		return "", usagef("--kind weekly: the weekly crawl is 'agentcensus recheck'")
	case kind != sink.Monthly && kind != sink.Adhoc:
		return "", usagef("--kind %q: write monthly or adhoc", f.kind)
	case kind == sink.Monthly && f.limit != 0:
		return "", usagef("--limit goes with --kind adhoc only: a monthly crawl covers its whole list")
	case f.limit < 0:
		return "", usagef("--limit %d: write how many entries to crawl", f.limit)
	case f.simulated && f.simulate < 1 && f.list == "":
		return "", usagef("--simulate %d: write how many sites to make up", f.simulate)
	case f.list == "":
		f.list = "tranco"
		if f.simulated {
			f.list = ""
		}
	}
	return kind, nil
}

// settings are what must not change while a crawl goes on.
func (f *crawlFlags) settings(r *runner) map[string]string {
	m := r.settings()
	if f.limit != 0 {
		m["limit"] = fmt.Sprint(f.limit)
	}
	if f.simulated {
		f.webFlags.addTo(m)
	}
	return m
}

// listing is a list as a crawl takes it.
type listing struct {
	info  sink.ListInfo
	sites iter.Seq2[pipeline.Site, error]
	// rankOf gives the rank of an entry by its number; nil when the two are one.
	rankOf func(entry int64) int64
	// keep, when not nil, is called once the crawl is open and before its first
	// site is asked.
	keep func() error
	// discard undoes what opening the list left behind, when no crawl came of
	// it.
	discard func()
}

// open opens the list; that of an unfinished crawl is the one it began with.
func (f *crawlFlags) open(ctx context.Context, r *runner, unfinished *sink.Header) (*listing, error) {
	if f.list == "" {
		return r.madeUp(f.simulate, f.seed), nil
	}
	name := f.list
	if name == "tranco" && unfinished != nil && unfinished.List.ListID != "" {
		name = "tranco:" + unfinished.List.ListID
	}
	if name == "tranco" || strings.HasPrefix(name, "tranco:") {
		// The list comes from the internet, whatever web is crawled.
		if err := r.config.requireIdentity(); err != nil {
			return nil, fmt.Errorf("%w\nA list file (--list FILE) needs none of it", err)
		}
	}
	l, err := sources.Open(ctx, name, sources.Options{
		Limit: f.limit, Stdin: r.streams.in, StdinCopy: sink.ListCopyPath(f.out, r.kind),
		Resume: unfinished != nil, UserAgent: r.identity.userAgent,
	})
	if err != nil {
		return nil, asListError(err)
	}
	info := l.Info()
	out := &listing{
		info:    sink.ListInfo{Source: info.Source, ListID: info.ListID, SHA256: info.SHA256, Entries: info.Entries},
		sites:   sites(l, info.First-1),
		discard: func() {},
	}
	if info.First != 1 { // a part of a ranking: its entries are numbered from 1
		out.rankOf = func(entry int64) int64 { return entry + info.First - 1 }
	}
	if info.Source == sources.SourceStdin && unfinished == nil {
		out.discard = func() { r.warn(removeIfThere(info.Path)) }
	}
	return out, nil
}

// sites gives the pipeline the list, its ranks lessened to the numbers of the
// entries.
func sites(l *sources.List, less int64) iter.Seq2[pipeline.Site, error] {
	return func(yield func(pipeline.Site, error) bool) {
		for s, err := range l.Sites() {
			s.Rank -= less
			if !yield(pipeline.Site(s), err) {
				return
			}
		}
	}
}

// asListError makes an unusable list a usage error.
func asListError(err error) error {
	var l *sources.ListError
	if errors.As(err, &l) {
		return usage(err)
	}
	return whenItPasses(fmt.Errorf("open the list: %w", err))
}
