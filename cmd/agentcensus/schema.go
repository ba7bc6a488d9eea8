package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"agentcensus/sink"
)

func newSchemaCommand(s streams) *cobra.Command {
	var asJSON, asMarkdown bool
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the tables that a crawl writes, column by column",
		Long: `schema prints every table with its columns, their DuckDB types and their
meaning. Fields of nested columns are named with a dot.`,
		Example: "  agentcensus schema\n  agentcensus schema --markdown >tables.md",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			switch {
			case asJSON && asMarkdown:
				return usagef("--json and --markdown exclude each other")
			case asMarkdown:
				return sink.WriteSchema(s.out)
			case asJSON:
				for _, table := range sink.Schema() {
					if err := encodeColumns(s, table.Name, "", table.Columns); err != nil {
						return err
					}
				}
				return nil
			}
			return showSchema(s.out, sink.Schema())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a column: {\"table\",\"column\",\"type\",\"nullable\",\"doc\"}")
	c.Flags().BoolVar(&asMarkdown, "markdown", false, "as Markdown")
	return c
}

// schemaColumn is one line of `schema --json`.
type schemaColumn struct {
	Table    string `json:"table"`
	Column   string `json:"column"`
	Type     string `json:"type"`
	Nullable bool   `json:"nullable"`
	Doc      string `json:"doc"`
}

func encodeColumns(s streams, table, parent string, columns []sink.Column) error {
	for _, c := range columns {
		if err := encodeLine(s.out, schemaColumn{table, parent + c.Name, c.Type, c.Nullable, c.Doc}); err != nil {
			return err
		}
		if err := encodeColumns(s, table, parent+c.Name+".", c.Fields); err != nil {
			return err
		}
	}
	return nil
}

// showSchema is the page for a person.
func showSchema(out io.Writer, tables []sink.Table) error {
	for i, table := range tables {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s: %s\n", table.Name, table.Doc)
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		showColumns(w, "", table.Columns)
		if err := w.Flush(); err != nil {
			return fmt.Errorf("write the schema: %w", err)
		}
	}
	return nil
}

func showColumns(w io.Writer, parent string, columns []sink.Column) {
	for _, c := range columns {
		kind := c.Type
		if c.Fields != nil { // the fields follow, each on a line of its own
			kind = "STRUCT"
			if strings.HasSuffix(c.Type, "[]") {
				kind = "STRUCT[]"
			}
		}
		if c.Nullable {
			kind += ", NULL"
		}
		fmt.Fprintf(w, "  %s%s\t%s\t%s\n", parent, c.Name, kind, c.Doc)
		showColumns(w, parent+c.Name+".", c.Fields)
	}
}
