package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"agentcensus/sink"
)

func newExportCommand(s streams) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "export",
		Short: "Write every table and view as CSV",
		Long: `export writes one CSV file a table and view, NAME.csv, with a header. Lists and
structures are JSON in their field; an empty field is NULL, "" an empty text;
times are UTC. Files of the same names are replaced, each when all of it is there.

Cards hold strangers' text: a spreadsheet may run a cell that begins with = + - or @.`,
		Example: "  agentcensus-report export --data census --csv tables",
		Args:    cobra.NoArgs,
	}
	data := dataFlag(c)
	c.Flags().StringVar(&dir, "csv", "", "directory to write to, made if it is not there (required)")
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		if err := required("csv", dir); err != nil {
			return err
		}
		if err := mustOpen("csv", dir); err != nil {
			return err
		}
		census, err := openCensus(c.Context(), *data, dir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, census.close()) }()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return usagef("making the directory for the files: %w", err)
		}
		names, err := census.viewNames(c.Context())
		if err != nil {
			return err
		}
		for _, name := range names {
			path := filepath.Join(dir, name+".csv")
			rows, err := census.exportView(c.Context(), name, path)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(s.out, "%s\t%s rows\n", printable(path), count(rows)); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// viewNames are the tables and views; latest_cards, a part of cards, is not
// worth a second copy.
func (c *census) viewNames(ctx context.Context) (names []string, err error) {
	rows, err := c.conn.QueryContext(ctx, "SELECT view_name FROM duckdb_views() WHERE NOT internal AND view_name <> 'latest_cards' ORDER BY view_name")
	if err != nil {
		return nil, fmt.Errorf("listing the views: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("listing the views: %w", err)
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// exportView writes one view to path and returns the number of its rows.
func (c *census) exportView(ctx context.Context, view, path string) (written int64, err error) {
	query, err := c.csvQuery(ctx, view)
	if err != nil {
		return 0, err
	}
	err = replaceWhole(path, func(temporary string) error {
		result, err := c.conn.ExecContext(ctx, fmt.Sprintf("COPY (%s) TO %s (FORMAT csv, HEADER true)", query, sink.Quote(temporary)))
		if err != nil {
			return c.explain(ctx, err)
		}
		written, err = result.RowsAffected()
		return err
	})
	return written, err
}

// csvQuery selects every column of a view, nested ones as JSON, in an order
// that two exports have in common: by rank, or else by all columns.
func (c *census) csvQuery(ctx context.Context, view string) (_ string, err error) {
	rows, err := c.conn.QueryContext(ctx, "SELECT column_name, data_type FROM duckdb_columns() WHERE NOT internal AND table_name = ? ORDER BY column_index", view)
	if err != nil {
		return "", fmt.Errorf("describing %s: %w", view, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var columns, flat []string
	ranked := false
	for rows.Next() {
		var name, kind string
		if err := rows.Scan(&name, &kind); err != nil {
			return "", fmt.Errorf("describing %s: %w", view, err)
		}
		column := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		if strings.HasSuffix(kind, "[]") || strings.HasPrefix(kind, "STRUCT(") || strings.HasPrefix(kind, "MAP(") {
			columns = append(columns, "to_json("+column+")::VARCHAR AS "+column)
			continue
		}
		columns = append(columns, column)
		if ranked = ranked || name == "rank"; !ranked || name == "rank" || name == "position" || name == "tag" {
			flat = append(flat, column)
		}
	}
	return fmt.Sprintf(`SELECT %s FROM "%s" ORDER BY %s`, strings.Join(columns, ", "), view, strings.Join(flat, ", ")), rows.Err()
}
