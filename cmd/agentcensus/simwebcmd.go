package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"agentcensus/pipeline/simweb"
)

// simwebFlags are the flags of `agentcensus simweb`.
type simwebFlags struct {
	seed                   uint64
	profile, scenario      string
	latency, handshake     time.Duration
	dead                   float64
	epoch                  int
	loopback               bool
	caOut, logOut, namesTo string
	names                  int
	asJSON                 bool
}

func newSimwebCommand(s streams) *cobra.Command {
	var f simwebFlags
	c := &cobra.Command{
		Use:   "simweb",
		Short: "Serve the simulated web alone, to try any client on it",
		Long: `simweb serves a made-up web on loopback: a DNS server and a TLS server that
answer for any name, by rules drawn from --seed and the name or by a scenario
file. It prints where they listen and writes its certificate authority, so that
any client can be tried on it, and runs until it is interrupted.

With --loopback its DNS server gives the loopback addresses on which the server
really listens: a client only has to change the port.`,
		Example: `  agentcensus simweb --seed 1 --ca-out ca.pem --names 1000 --names-out names.csv
  agentcensus crawl --list names.csv --resolver 127.0.0.1:PORT --connect-to 127.0.0.1:PORT --ca-file ca.pem --out trial`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return serveSimweb(c, s, f) },
	}
	fl := c.Flags()
	fl.Uint64Var(&f.seed, "seed", 1, "which simulated web")
	fl.StringVar(&f.profile, "profile", simweb.Measured, "how often what happens: measured (like the web), flat (everything often) or plain (no faults)")
	oneOf(c, "profile", simweb.Measured, simweb.Flat, simweb.Plain)
	fl.StringVar(&f.scenario, "scenario", "", "a YAML `file` of sites said by hand")
	fl.DurationVar(&f.latency, "latency", 0, "median time to an answer")
	fl.DurationVar(&f.handshake, "handshake-latency", 0, "median time of a handshake")
	fl.Float64Var(&f.dead, "dead", 0, "share of hosts that never answer, 0 to 1 (default: the profile's)")
	fl.IntVar(&f.epoch, "epoch", 0, "the web at a later time: some publishers have come, gone or changed")
	fl.BoolVar(&f.loopback, "loopback", false, "DNS gives loopback addresses instead of public ones")
	fl.StringVar(&f.caOut, "ca-out", "", "write the certificate authority to this PEM `file`")
	fl.StringVar(&f.logOut, "log-out", "", "write the request log to this `file`, one JSON object a line")
	fl.IntVar(&f.names, "names", 0, "make up `N` names for --names-out")
	fl.StringVar(&f.namesTo, "names-out", "", "write made-up names to this `file`, as rank,domain lines")
	fl.BoolVar(&f.asJSON, "json", false, "print where it listens as JSON")
	return c
}

// check refuses flags that say nothing or do not go together.
func (f *simwebFlags) check() error {
	switch {
	case f.latency < 0 || f.handshake < 0:
		return usagef("--latency and --handshake-latency: give a time, such as 80ms")
	case f.namesTo != "" && f.names < 1:
		return usagef("--names-out %s: say with --names how many", f.namesTo)
	case f.namesTo == "" && f.names != 0:
		return usagef("--names %d: say with --names-out where to write them", f.names)
	}
	return nil
}

func serveSimweb(c *cobra.Command, s streams, f simwebFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	cfg := simweb.Config{
		Seed: f.seed, Profile: f.profile, DeadShare: f.dead, Epoch: f.epoch, Log: simweb.LogCounters,
		Latency:          simweb.Lognormal{Median: f.latency, Sigma: latencySigma},
		HandshakeLatency: simweb.Lognormal{Median: f.handshake, Sigma: latencySigma},
	}
	if f.loopback {
		cfg.Addresses = simweb.Loopback
	}
	if f.scenario != "" {
		if cfg.Scenario, err = simweb.LoadScenario(f.scenario); err != nil {
			return usage(err)
		}
	}
	if f.logOut != "" {
		log, failed := os.Create(f.logOut)
		if failed != nil {
			return usagef("--log-out: %w", failed)
		}
		defer func() { err = errors.Join(err, log.Close()) }()
		cfg.Log, cfg.LogTo = simweb.LogWriter, log
	}
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	w, err := startSimweb(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if f.caOut != "" {
		if err := os.WriteFile(f.caOut, w.CAPEM(), 0o644); err != nil {
			return usagef("--ca-out: %w", err)
		}
	}
	if f.namesTo != "" {
		if err := writeNames(w, f.names, f.namesTo); err != nil {
			return usagef("--names-out: %w", err)
		}
	}
	if err := f.announce(s, w); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// announce says where the web listens.
func (f simwebFlags) announce(s streams, w *simweb.Web) error {
	connect := w.Addr().String()
	if f.loopback {
		connect = fmt.Sprintf(":%d", w.Port())
	}
	if f.asJSON {
		return json.NewEncoder(s.out).Encode(struct {
			Resolvers []string `json:"resolvers"`
			ConnectTo string   `json:"connect_to"`
			CAFile    string   `json:"ca_file,omitempty"`
		}{w.Resolvers(), connect, f.caOut})
	}
	for _, r := range w.Resolvers() {
		fmt.Fprintf(s.out, "--resolver %s\n", r)
	}
	fmt.Fprintf(s.out, "--connect-to %s\n", connect)
	if f.loopback {
		fmt.Fprintln(s.out, "--allow-address 127.0.0.0/8")
	}
	if f.caOut != "" {
		fmt.Fprintf(s.out, "--ca-file %s\n", f.caOut)
	}
	return nil
}

// writeNames writes n made-up names as Tranco writes lists.
func writeNames(w *simweb.Web, n int, path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for rank, name := range w.Names(n) {
		if _, err := fmt.Fprintf(f, "%d,%s\r\n", rank, name); err != nil {
			return err
		}
	}
	return nil
}
