package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"agentcensus/pipeline"
	"agentcensus/sink"
)

func newStatusCommand(s streams) *cobra.Command {
	var out string
	var asJSON bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Tell how the crawl stands that runs or was stopped, and when the last ones were",
		Long: `status tells of the crawl under --out that runs or was stopped: how far it is,
how fast, how long it will take, what the sites came to so far, and which process
runs it; and when the last complete crawl of each kind was. It disturbs nothing.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if err := checkOut(out); err != nil {
				return err
			}
			if _, err := os.Stat(out); errors.Is(err, fs.ErrNotExist) {
				return usagef("there is no directory %s; name the output directory of a crawl with --out", out)
			}
			st, err := readStanding(out)
			if err != nil {
				return err
			}
			if asJSON {
				return encodeLine(s.out, st)
			}
			return st.print(s.out)
		},
	}
	c.Flags().StringVar(&out, "out", "census", "the output `directory`")
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

// standing is how an output directory stands, as --json prints it.
type standing struct {
	// Holder is the process that has the directory's lock.
	Holder *lockHolder `json:"holder,omitempty"`
	// Crawl is the one that runs or was stopped last.
	Crawl *crawlStanding `json:"crawl,omitempty"`
	// Unfinished are the kinds that have a crawl to go on with.
	Unfinished []sink.Kind `json:"unfinished"`
	// Complete is the last complete crawl of each kind.
	Complete []completeCrawl `json:"complete"`
}

type lockHolder struct {
	Doing string    `json:"doing"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

type crawlStanding struct {
	sink.Status
	// RemainingSeconds is nil when nobody can tell.
	RemainingSeconds *float64 `json:"remaining_seconds"`
}

type completeCrawl struct {
	Kind     string    `json:"kind"`
	Crawl    string    `json:"crawl"`
	Finished time.Time `json:"finished"`
	Sites    int64     `json:"sites"`
	Cards    int64     `json:"cards"`
	// Simulated says that the sites were made up.
	Simulated bool `json:"simulated"`
}

// readStanding reads how the directory stands. A crawl that says it runs, and
// whose process is gone, was killed.
func readStanding(out string) (*standing, error) {
	st := &standing{Unfinished: []sink.Kind{}, Complete: []completeCrawl{}}
	holder, err := sink.Holder(out)
	if err != nil {
		return nil, err
	}
	if holder != nil {
		st.Holder = &lockHolder{Doing: holder.Kind, PID: holder.PID, Since: holder.Since}
	}
	kinds, err := sink.UnfinishedKinds(out)
	if err != nil {
		return nil, err
	}
	st.Unfinished = append(st.Unfinished, kinds...)
	status, err := sink.ReadStatus(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		if status.Running && (holder == nil || holder.Kind != status.Kind) {
			status.Running, status.Reason = false, "its process was killed"
		}
		st.Crawl = &crawlStanding{Status: status}
		if left := status.Remaining(); status.Running && left > 0 {
			st.Crawl.RemainingSeconds = new(left.Seconds())
		}
	}
	past, err := completeCrawls(out)
	if err != nil {
		return nil, fmt.Errorf("look for complete crawls: %w", err)
	}
	for _, kind := range sink.Kinds {
		if c := past.latest(kind); c != nil {
			st.Complete = append(st.Complete, completeCrawl{
				Kind: c.Kind, Crawl: c.Crawl, Finished: time.UnixMicro(c.row.Finished).UTC(), Sites: c.row.Sites, Cards: c.row.Cards, Simulated: c.row.Simulated,
			})
		}
	}
	return st, nil
}

// print tells it to a person.
func (st *standing) print(out io.Writer) error {
	switch c := st.Crawl; {
	case c != nil && c.Running:
		fmt.Fprintf(out, "The %s is running: process %d, since %s.\n", c.name(), st.Holder.PID, clock(st.Holder.Since))
	case st.Holder != nil:
		fmt.Fprintf(out, "%s is running: process %d, since %s.\n", st.Holder.Doing, st.Holder.PID, clock(st.Holder.Since))
	default:
		fmt.Fprintln(out, "Nothing is running.")
	}
	if c := st.Crawl; c != nil {
		if !c.Running {
			fmt.Fprintf(out, "The %s was stopped at %s: %s\n", c.name(), clock(c.Updated), c.Reason)
		}
		if err := c.print(out); err != nil {
			return err
		}
	}
	for _, kind := range st.Unfinished {
		if st.Crawl == nil || st.Crawl.Kind != string(kind) {
			fmt.Fprintf(out, "A %s crawl is unfinished.\n", kind)
		}
	}
	if len(st.Complete) == 0 {
		fmt.Fprintln(out, "No crawl is complete yet.")
		return nil
	}
	fmt.Fprintln(out, "\nThe last complete crawls:")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range st.Complete {
		kind := c.Kind
		if c.Simulated {
			kind += ", simulated"
		}
		fmt.Fprintf(w, "  %s\t%s\t%s sites\t%s cards\tfinished %s\n", kind, c.Crawl, thousands(c.Sites), thousands(c.Cards), clock(c.Finished))
	}
	return w.Flush()
}

// name is what the crawl is called.
func (c *crawlStanding) name() string {
	kind := c.Kind
	if c.Simulated {
		kind = "simulated " + kind
	}
	return fmt.Sprintf("%s crawl of %s", kind, c.Date)
}

// print is the progress of one crawl.
func (c *crawlStanding) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	share := 0.0
	if c.Entries > 0 {
		share = 100 * float64(c.Settled) / float64(c.Entries)
	}
	fmt.Fprintf(w, "  sites\t%s of %s (%.1f %%)\n", thousands(c.Settled), thousands(c.Entries), share)
	fmt.Fprintf(w, "  cards\t%s\n", thousands(c.Cards))
	fmt.Fprintf(w, "  requests\t%s\n", thousands(c.Requests))
	if c.Running {
		left := "not known yet"
		if d := c.Remaining(); d > 0 {
			left = d.Round(time.Second).String()
		}
		fmt.Fprintf(w, "  rate\t%.1f sites a second, %d requests in flight\n", c.Rate, c.InFlight)
		fmt.Fprintf(w, "  remaining\t%s\n", left)
	}
	for _, o := range pipeline.Outcomes {
		if n := c.Outcomes[string(o)]; n > 0 {
			fmt.Fprintf(w, "  %s\t%s\n", o, thousands(n))
		}
	}
	return w.Flush()
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
