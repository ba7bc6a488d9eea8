package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"text/tabwriter"
	"time"

	"agentcensus/pipeline"
	"agentcensus/sink"
)

// report is the summary of a finished crawl, as --json prints it.
type report struct {
	Kind      string           `json:"kind"`
	Crawl     string           `json:"crawl"`
	Simulated bool             `json:"simulated"`
	Sites     int64            `json:"sites"`
	Cards     int64            `json:"cards"`
	Requests  int64            `json:"requests"`
	Seconds   float64          `json:"seconds"`
	Outcomes  map[string]int64 `json:"outcomes"`
	Data      string           `json:"data"`
}

// summarise says what a finished crawl came to and where it lies.
func (r *runner) summarise(sum sink.Summary) error {
	row := sum.Crawl
	rep := report{
		Kind: string(r.kind), Crawl: time.UnixMicro(row.Started).UTC().Format(time.DateOnly), Simulated: row.Simulated,
		Sites: row.Sites, Cards: row.Cards, Requests: row.Requests,
		Seconds:  float64(row.Finished-row.Started) / 1e6,
		Outcomes: outcomesOf(sum.Totals), Data: filepath.Join(r.flags.out, "data"),
	}
	if r.flags.asJSON {
		return json.NewEncoder(r.streams.out).Encode(rep)
	}
	out := r.streams.out
	sort := "crawl"
	if rep.Simulated {
		sort = "crawl of a SIMULATED web (nothing here is about real sites)"
	}
	fmt.Fprintf(out, "\nThe %s %s of %s is complete.\n\n", rep.Kind, sort, rep.Crawl)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "  outcome\tsites\tshare\t\n")
	for _, o := range pipeline.Outcomes {
		if n := rep.Outcomes[string(o)]; n > 0 {
			fmt.Fprintf(w, "  %s\t%s\t%.2f %%\t\n", o, thousands(n), 100*float64(n)/float64(rep.Sites))
		}
	}
	fmt.Fprintf(w, "  all\t%s\t\t\n", thousands(rep.Sites))
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	took := time.Duration(rep.Seconds * float64(time.Second)).Round(time.Second / 10)
	cards := "cards"
	if rep.Cards == 1 {
		cards = "card"
	}
	fmt.Fprintf(out, "\n%s %s found by %s requests in %s.\n", thousands(rep.Cards), cards, thousands(rep.Requests), took)
	fmt.Fprintf(out, "The tables lie under %s. To look at them:\n\n", rep.Data)
	fmt.Fprintf(out, "  cd %s && duckdb -init views.sql -c \"FROM outcomes\"\n", r.flags.out)
	fmt.Fprintf(out, "  agentcensus-report summary --data %s\n", r.flags.out)
	return nil
}

// thousands writes n with a comma between groups of three digits.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
