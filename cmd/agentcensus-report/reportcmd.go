package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func newReportCommand(s streams) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "report",
		Short: "Write the census as one HTML page",
		Long: `report writes one self-contained page: the headline numbers, and for each
question a picture, its table and its SQL. It needs no network to be read, fits
a phone and a desktop, and follows the reader's light or dark setting.`,
		Example: "  agentcensus-report report --data census --out census.html",
		Args:    cobra.NoArgs,
	}
	data := dataFlag(c)
	c.Flags().StringVar(&out, "out", "", "file to write, replaced when all of it is there (required)")
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		if err := required("out", out); err != nil {
			return err
		}
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
		return writeWhole(out, func(w io.Writer) error { return writePage(w, r) })
	}
	return c
}

// sayDoubts tells the person at the terminal what the page says as well.
func sayDoubts(w io.Writer, r report) {
	for _, doubt := range r.doubts {
		fmt.Fprintf(w, "agentcensus-report: warning: %s\n", printable(doubt))
	}
}
