// Command agentcensus-report is the analyst's side of the census: it makes a
// page, a summary, an answer to a query, or CSV files of what agentcensus wrote.
//
// It embeds DuckDB (cgo), which is why it is a program of its own: the crawler
// stays pure Go. It only reads: what a table or a view means is defined in
// package sink. What a card says is a stranger's text, and is treated so in HTML
// and on terminals.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// The exit statuses, as --help documents them.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError marks an error as the caller's: an argument that has to be mended
// before the same command can work.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, a ...any) error { return &usageError{fmt.Errorf(format, a...)} }

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	status := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(status)
}

// run executes one command line and returns its exit status.
func run(ctx context.Context, args []string, s streams) int {
	root := newRoot(s)
	root.SetArgs(commentsFirst(args))
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	fmt.Fprintf(s.err, "agentcensus-report: %s\n", printable(err.Error()))
	if usage := new(usageError); errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

// commentsFirst lets a query begin with an SQL comment: "-- words" is no flag.
func commentsFirst(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		if strings.HasPrefix(a, "-- ") || strings.HasPrefix(a, "--\n") {
			out[i] = "\n" + a
		}
	}
	return out
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "agentcensus-report",
		Short: "Look at what agentcensus found",
		Long: `agentcensus-report reads the directory that agentcensus wrote (its --out) and
makes of it a page, a summary, an answer to a query, or CSV files. DuckDB is
built in; nothing is installed, written to the data, or asked of the network.

Exit statuses: 0 done, 1 it could not be done, 2 the command line has to be mended.`,
		Example: `  agentcensus-report report --data census --out census.html
  agentcensus-report summary --data census
  agentcensus-report sql --data census "SELECT * FROM adoption WHERE latest"
  agentcensus-report export --data census --csv tables`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%w; see '%s --help'", err, c.CommandPath())
	})
	root.AddCommand(newReportCommand(s), newSummaryCommand(s), newSQLCommand(s), newExportCommand(s), newVersionCommand(s))
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
	for _, sub := range c.Commands() {
		refuseStrayArguments(sub)
	}
}

// dataFlag adds --data, which every command that reads needs.
func dataFlag(c *cobra.Command) *string {
	return c.Flags().String("data", "", "directory that agentcensus wrote, its --out (required)")
}

// required refuses an empty value of a flag.
func required(flag, value string) error {
	if value == "" {
		return usagef("--%s is missing", flag)
	}
	return nil
}
