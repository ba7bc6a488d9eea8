package main

import (
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"agentcensus/sink"
	"agentcensus/sources"
)

// forgetFlags are the flags of `agentcensus forget`.
type forgetFlags struct {
	out, config string
	keepOut     bool
	asJSON      bool
}

func newForgetCommand(s streams) *cobra.Command {
	var f forgetFlags
	c := &cobra.Command{
		Use:   "forget DOMAIN",
		Short: "Remove every row about a domain, and keep none from now on",
		Long: `forget removes the rows about a domain, its www. form and every name below it
from all tables under --out and from unfinished crawls, and adds the domain to
the list of the suppressed: it is still counted, but no row about it is kept.

With --keep-out the domain is added to the opt-out file as well, and is not
asked any more.

A public suffix, below which the sites of many owners lie, is refused unless
written =SUFFIX (itself and its www. form) or *.SUFFIX (all below it too).

While a crawl runs under --out nothing is removed.

Exit statuses: 0 removed, or there was nothing; 1 failed, the same command goes
on; 2 wrong usage; 3 a crawl runs, so forget the domain when it has ended.`,
		Example: `  agentcensus forget shop.example --out census
  agentcensus forget bücher.example --keep-out`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return forget(s, f, args[0]) },
	}
	fl := c.Flags()
	fl.StringVar(&f.out, "out", "census", "the output `directory`")
	addConfigFlag(c, &f.config)
	fl.BoolVar(&f.keepOut, "keep-out", false, "do not ask the domain any more either: add it to the opt-out file")
	fl.BoolVar(&f.asJSON, "json", false, "print what was removed as JSON")
	return c
}

// forgotten is what forget did, as --json prints it.
type forgotten struct {
	Domain       string        `json:"domain"`
	SuppressedIn string        `json:"suppressed_in"`
	OptedOutIn   string        `json:"opted_out_in,omitempty"`
	Removed      []removedRows `json:"removed"`
	// Unasked are entries of an unfinished weekly crawl's list.
	Unasked int `json:"removed_from_unfinished_list"`
}

// removedRows is how many rows of one table of one crawl are gone.
type removedRows struct {
	Table      string `json:"table"`
	Kind       string `json:"kind"`
	Crawl      string `json:"crawl"`
	Unfinished bool   `json:"unfinished"`
	Rows       int64  `json:"rows"`
}

func forget(s streams, f forgetFlags, domain string) error {
	if err := checkOut(f.out); err != nil {
		return err
	}
	c, err := loadConfig(f.config)
	if err != nil {
		return err
	}
	entry, err := sources.ParseEntry(domain)
	if err != nil {
		return usage(err)
	}
	if f.keepOut && c.OptOut == "" {
		return usagef("--keep-out needs the opt-out file: name it in the configuration as opt_out")
	}
	if _, err := os.Stat(f.out); errors.Is(err, os.ErrNotExist) {
		return usagef("there is no output directory %s; name it with --out", f.out)
	}
	done := forgotten{Domain: domain, SuppressedIn: suppressedPath(c.Suppressed, f.out), Removed: []removedRows{}}
	if f.keepOut {
		done.OptedOutIn = c.OptOut
	}
	if err := done.remove(f.out, entry.Covers); err != nil {
		return err
	}
	return done.print(s, f.asJSON)
}

// remove does it, under the lock of the output directory.
func (d *forgotten) remove(out string, covers func(host string) bool) (err error) {
	lock, err := sink.AcquireLock(out, "forget", time.Now())
	var locked *sink.LockedError
	if errors.As(err, &locked) {
		return &exitError{exitResumable, fmt.Errorf("%w; nothing was removed: forget the domain when that has ended or was stopped", err)}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()

	// Recorded first: killed anywhere below, no crawl keeps a row again, and
	// the same command removes the rest.
	if err := d.record(); err != nil {
		return err
	}
	if err := sink.CleanTemp(out); err != nil {
		return err
	}
	published, err1 := sink.Forget(out, covers)
	unfinished, err2 := sink.ForgetUnfinished(out, covers)
	unasked, err3 := forgetPublishers(sink.ListCopyPath(out, sink.Weekly), covers)
	d.add(published, false)
	d.add(unfinished, true)
	d.Unasked = unasked
	if err := errors.Join(err1, err2, err3); err != nil {
		return fmt.Errorf("not all rows could be removed (%d were); the same command goes on: %w", published.Rows()+unfinished.Rows(), err)
	}
	return nil
}

// record writes the domain into the lists that crawls heed.
func (d *forgotten) record() error {
	if err := sources.Append(d.SuppressedIn, d.Domain); err != nil {
		return err
	}
	if d.OptedOutIn == "" {
		return nil
	}
	return sources.Append(d.OptedOutIn, d.Domain)
}

func (d *forgotten) add(r sink.Report, unfinished bool) {
	for _, x := range r.Removed {
		d.Removed = append(d.Removed, removedRows{Table: x.Table, Kind: x.Kind, Crawl: x.Crawl, Unfinished: unfinished, Rows: x.Rows})
	}
}

func (d *forgotten) print(s streams, asJSON bool) error {
	if asJSON {
		return encodeLine(s.out, d)
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	var sum int64
	for _, r := range d.Removed {
		note := ""
		if r.Unfinished {
			note = "unfinished"
		}
		fmt.Fprintf(w, "  %d\t%s\t%s crawl of %s\t%s\n", r.Rows, r.Table, r.Kind, r.Crawl, note)
		sum += r.Rows
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	fmt.Fprintf(s.out, "%d rows removed; %s is suppressed in %s", sum, printable(d.Domain), d.SuppressedIn)
	switch {
	case d.OptedOutIn != "":
		fmt.Fprintf(s.out, " and kept out by %s\n", d.OptedOutIn)
	default:
		fmt.Fprintln(s.out, ": it is still asked and counted; --keep-out ends that")
	}
	return nil
}
