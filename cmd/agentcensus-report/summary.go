package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func newSummaryCommand(s streams) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "summary",
		Short: "Print the numbers of the page",
		Long: `summary prints the headline numbers and every table of the page that report
makes; with --json as one JSON object, shares as fractions from 0 to 1.`,
		Example: "  agentcensus-report summary --data census\n  agentcensus-report summary --data census --json | jq .headline",
		Args:    cobra.NoArgs,
	}
	data := dataFlag(c)
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		census, err := openCensus(c.Context(), *data)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, census.close()) }()
		r, err := census.report(c.Context())
		if err != nil {
			return err
		}
		sayDoubts(s.err, r)
		if asJSON {
			return encodeSummary(s.out, r)
		}
		return printSummary(s.out, r)
	}
	return c
}

// summaryJSON is the answer of `summary --json`.
type summaryJSON struct {
	Simulated bool             `json:"simulated"`
	Doubts    []string         `json:"doubts"`
	Crawl     map[string]any   `json:"crawl"`
	Headline  map[string]any   `json:"headline"`
	Exhibits  []exhibitSummary `json:"exhibits"`
}

type exhibitSummary struct {
	ID      string           `json:"id"`
	Title   string           `json:"title"`
	SQL     string           `json:"sql"`
	Columns []string         `json:"columns"`
	Rows    []map[string]any `json:"rows"`
}

func encodeSummary(w io.Writer, r report) error {
	answer := summaryJSON{Simulated: r.simulated(), Doubts: append([]string{}, r.doubts...),
		Crawl: objects(r.crawl)[0], Headline: objects(r.headline)[0]}
	for _, part := range r.parts {
		for i, e := range part.exhibits {
			answer.Exhibits = append(answer.Exhibits, exhibitSummary{ID: e.id, Title: e.title, SQL: e.sql,
				Columns: part.answers[i].columns, Rows: objects(part.answers[i])})
		}
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(answer); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return nil
}

// objects makes each row an object by column.
func objects(t table) []map[string]any {
	rows := make([]map[string]any, len(t.rows))
	for i, row := range t.rows {
		rows[i] = make(map[string]any, len(row))
		for j, value := range row {
			rows[i][t.columns[j]] = value
		}
	}
	return rows
}

func printSummary(out io.Writer, r report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if r.simulated() {
		fmt.Fprint(w, "SIMULATED: the sites were made up, nothing here is about the web.\n\n")
	}
	fmt.Fprintf(w, "Agent Card census: the %s crawl of %s\n\n", r.crawl.get(0, "kind"), r.crawl.get(0, "crawl"))
	for _, tile := range tiles(r) {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", tile.Label, tile.Value, tile.Of)
	}
	for _, part := range r.parts {
		for i, e := range part.exhibits {
			fmt.Fprintf(w, "\n%s\n", e.title)
			if _, why := e.chart(part.answers[i]); why != "" {
				fmt.Fprintf(w, "  %s\n", why)
			}
			printRows(w, part.answers[i])
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return nil
}

func printRows(w io.Writer, t table) {
	if len(t.rows) == 0 {
		return
	}
	for _, column := range t.columns {
		fmt.Fprintf(w, "  %s\t", heading(column))
	}
	fmt.Fprintln(w)
	for _, row := range t.rows {
		for i, value := range row {
			fmt.Fprintf(w, "  %s\t", cell(t.columns[i], value))
		}
		fmt.Fprintln(w)
	}
}
