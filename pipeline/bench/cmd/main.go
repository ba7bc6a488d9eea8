// Command cmd measures the crawler against yardsticks on a simulated web and
// prints one table. It exits 1 where a figure is missed. See
// pipeline/bench/README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"agentcensus/pipeline/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

var errMissed = errors.New("figures are missed")

func run(ctx context.Context) error {
	if role := bench.Role(); role != "" {
		return bench.Play(ctx, role, os.Stdin, os.Stdout)
	}
	o := bench.Full()
	quick := flag.Bool("quick", false, "a short run, to see that all of it works")
	rounds := flag.Int("rounds", o.Rounds, "rounds of each client")
	sites := flag.Int("sites", o.Sites, "sites of the zero-latency and the slots runs")
	million := flag.Int("million", o.Million, "names of the longest run in memory")
	only := flag.String("only", "", "figures to take, with commas between: "+strings.Join(bench.Names(), ", ")+" or million")
	percent := flag.Int("gogc", o.GC.Percent, "GC percent of the crawler")
	limit := flag.Int64("memlimit", o.GC.Limit>>20, "soft memory limit of the crawler in MiB; 0: none")
	profile := flag.String("profile", "", "write CPU profiles of the crawler into this `directory`")
	sockets := flag.String("sockets", "", "crawl this `list` over sockets instead, and show the process as it goes")
	minutes := flag.Float64("minutes", 10, "how long -sockets crawls")
	latency := flag.Duration("latency", 0, "median latency of the web of -sockets")
	flag.Parse()

	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if *quick {
		o = bench.Quick()
	}
	if given["rounds"] {
		o.Rounds = *rounds
	}
	if given["sites"] {
		o.Sites = *sites
	}
	if given["million"] {
		o.Million = *million
	}
	o.GC = bench.GC{Percent: *percent, Limit: *limit << 20}
	o.Profile, o.Log = *profile, os.Stderr

	conditions, err := bench.Conditions(o)
	if err != nil {
		return err
	}
	fmt.Println(conditions)
	switch {
	case *sockets != "":
		return bench.Sockets(ctx, o, *sockets, time.Duration(*minutes*float64(time.Minute)), *latency, os.Stdout)
	case *only == "million":
		return bench.Million(ctx, o, os.Stdout)
	}
	var names []string
	if *only != "" {
		names = strings.Split(*only, ",")
	}
	figures, err := bench.Measure(ctx, o, names)
	missed, wrote := bench.WriteTable(os.Stdout, figures)
	if err := errors.Join(err, wrote); err != nil {
		return err
	}
	if missed > 0 {
		return fmt.Errorf("%d %w", missed, errMissed)
	}
	return nil
}
