// Command agentcensus counts who on the web publishes an A2A Agent Card.
//
// Each command is one file of this package: it reads flags and the
// configuration, puts the packages together, and speaks to a person or to
// cron. What a crawl is and how it behaves is the business of pipeline and
// the packages below it; what is kept, of sink.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// The exit statuses, as the README and --help document them.
const (
	exitComplete  = 0
	exitFailed    = 1
	exitUsage     = 2
	exitResumable = 3
)

// exitError is an error that ends the program with a status of its own. A nil
// err says that everything worth saying has been said.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage marks an error as the caller's: a flag, a file or a configuration
// that has to be mended before the same command can work.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err}
}

func usagef(format string, a ...any) error { return usage(fmt.Errorf(format, a...)) }

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func main() {
	os.Exit(run(context.Background(), os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// run executes one command line and returns its exit status.
func run(ctx context.Context, args []string, s streams) int {
	root := newRoot(s)
	root.SetArgs(joinOptional(args, "--simulate"))
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitComplete
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{exitFailed, err}
	}
	if err != error(exit) || exit.err != nil { // it may be wrapped, or joined to another
		fmt.Fprintf(s.err, "agentcensus: %v\n", err)
	}
	return exit.status
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "agentcensus",
		Short: "Count who on the web publishes an A2A Agent Card",
		Long: `agentcensus walks a list of domains, asks each site for its robots.txt and then
for an A2A Agent Card, and writes what it finds to Parquet for DuckDB.

It leaves alone who asks to be left alone, signs every request, and can be
killed and started again at any time.`,
		Example: `  agentcensus crawl --simulate 10000            a crawl of a made-up web: no network needed
  agentcensus config init                       write a commented configuration file
  agentcensus crawl --kind monthly --out census the month's crawl of the Tranco top million
  agentcensus recheck --out census              ask last month's publishers again`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%w; see '%s --help'", err, c.CommandPath())
	})
	addCommands(root, s)
	refuseStrayArguments(root)
	return root
}

// refuseStrayArguments makes wrong arguments a usage error, like a wrong flag.
func refuseStrayArguments(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usagef("%w; see '%s --help'", err, c.CommandPath())
			}
			return nil
		}
	}
	if c.HasSubCommands() && !c.Runnable() {
		// Cobra would take a mistyped command for a call for help.
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	for _, sub := range c.Commands() {
		refuseStrayArguments(sub)
	}
}
