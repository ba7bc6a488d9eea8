package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"

	"github.com/duckdb/duckdb-go/v2"
	"github.com/spf13/cobra"
)

func newSQLCommand(s streams) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "sql QUERY",
		Short: "Answer one query over the census",
		Long: `sql runs one statement in DuckDB with the tables and views of the census: crawls,
cards, site_totals, fetch_totals, checks, and views over them (SHOW TABLES lists
them all). "-" reads the statement from standard input. Times are UTC.

Formats: table cuts long values short; csv has an empty field for NULL and "" for
an empty text; json is one object a row, with null for NaN and the infinities,
which JSON does not have. Cards hold strangers' text: a spreadsheet may run a cell
that begins with = + - or @.`,
		Example: `  agentcensus-report sql --data census "SELECT * FROM adoption WHERE latest"
  agentcensus-report sql --data census --format csv "SELECT site, a2a_version FROM latest_cards" >versions.csv`,
		Args: cobra.ExactArgs(1),
	}
	data := dataFlag(c)
	c.Flags().StringVar(&format, "format", "table", "table, csv, or json")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		write, known := map[string]answerWriter{"table": writeTable, "csv": writeCSV, "json": writeJSON}[format]
		if !known {
			return usagef("there is no format %q: table, csv, or json", format)
		}
		query, err := statement(s.in, args[0])
		if err != nil {
			return err
		}
		census, err := openCensus(c.Context(), *data)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, census.close()) }()
		return census.answer(c.Context(), query, format == "json", func(names []string, rows *sql.Rows) error {
			buffer := bufio.NewWriter(s.out)
			safe := func(text string) string { return text }
			if isTerminal(s.out) {
				safe = printable
			}
			return errors.Join(write(buffer, safe, names, rows), buffer.Flush())
		})
	}
	return c
}

// statement is the query as given, or standard input, without a last semicolon.
func statement(in io.Reader, arg string) (string, error) {
	if arg == "-" {
		text, err := io.ReadAll(in)
		if err != nil {
			return "", fmt.Errorf("reading the query: %w", err)
		}
		arg = string(text)
	}
	query := strings.TrimRight(arg, "; \t\r\n")
	if query == "" {
		return "", usagef("the query is empty")
	}
	return query, nil
}

// answerWriter writes the rows of an answer, whose columns are all text or
// NULL. safe makes text fit for where it goes.
type answerWriter func(w io.Writer, safe func(string) string, names []string, rows *sql.Rows) error

// answer runs one statement and hands its rows over with every value as DuckDB
// writes it; asJSON: each row as one JSON object.
func (c *census) answer(ctx context.Context, query string, asJSON bool, use func([]string, *sql.Rows) error) (err error) {
	asText, err := c.wrapped(ctx, query, asJSON)
	if err != nil {
		return err
	}
	rows, err := c.conn.QueryContext(ctx, asText)
	if asText != query && isSyntax(err) && strings.Contains(query, ";") {
		// DuckDB takes a remark behind the semicolon, but not within a query.
		return usagef("the query is more than one statement, or more follows its semicolon: sql takes one statement at a time")
	}
	if err != nil {
		return refused(c.explain(ctx, err))
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	names, err := rows.Columns()
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if err := use(names, rows); err != nil {
		return c.explain(ctx, fmt.Errorf("reading the answer: %w", err))
	}
	return nil
}

// wrapped lets DuckDB itself write the values of a query as text. It refuses
// what is no query. EXPLAIN stays as it is: it cannot be part of a query.
func (c *census) wrapped(ctx context.Context, query string, asJSON bool) (string, error) {
	explain, query := cutExplain(query)
	if explain != "" && asJSON {
		return "", usagef("a plan is no JSON: --format csv shows it whole")
	}
	if err := c.mustBeQuery(ctx, query); err != nil {
		return "", err
	}
	switch {
	case explain != "":
		return explain + query, nil
	case asJSON:
		return "SELECT to_json(answer)::VARCHAR FROM (" + query + "\n) AS answer", nil
	}
	return "SELECT COLUMNS(*)::VARCHAR FROM (" + query + "\n)", nil
}

var explainWords = regexp.MustCompile(`(?i)^(?:\s|--[^\r\n]*[\r\n])*EXPLAIN\b(\s+ANALYZE\b)?`)

// cutExplain parts EXPLAIN from the query behind it: EXPLAIN ANALYZE executes
// whatever follows.
func cutExplain(query string) (explain, rest string) {
	words := explainWords.FindStringSubmatch(query)
	switch {
	case words == nil:
		return "", query
	case words[1] == "":
		return "EXPLAIN ", query[len(words[0]):]
	}
	return "EXPLAIN ANALYZE ", query[len(words[0]):]
}

// mustBeQuery refuses what does not only read, before anything of it is
// executed.
func (c *census) mustBeQuery(ctx context.Context, query string) error {
	var kind duckdb.StmtType
	err := c.conn.Raw(func(driverConn any) error {
		conn, ok := driverConn.(*duckdb.Conn)
		if !ok {
			return fmt.Errorf("unexpected driver %T", driverConn)
		}
		// PrepareContext would execute all statements but the last; Prepare takes
		// only one.
		prepared, err := conn.Prepare(query)
		if err != nil {
			return err
		}
		statement, ok := prepared.(*duckdb.Stmt)
		if !ok {
			return errors.Join(fmt.Errorf("unexpected statement %T", prepared), prepared.Close())
		}
		kind, err = statement.StatementType()
		return errors.Join(err, statement.Close())
	})
	var duck *duckdb.Error
	switch {
	case errors.As(err, &duck):
		return refused(c.explain(ctx, err))
	case err != nil: // none or several
		if pivot, pivotErr := c.fitsIntoQuery(ctx, query); pivot || pivotErr != nil {
			return pivotErr
		}
		if strings.Contains(query, ";") {
			return usagef("the query is more than one statement: sql takes one statement at a time")
		}
		return refused(err)
	case kind != duckdb.STATEMENT_TYPE_SELECT:
		return usagef("sql only reads: it takes SELECT, FROM, WITH, VALUES, PIVOT, SHOW, DESCRIBE, SUMMARIZE or EXPLAIN")
	}
	return nil
}

// fitsIntoQuery says whether the whole text can stand in parentheses within a
// query. A PIVOT can, of which DuckDB makes several statements; several
// statements cannot. The text must be correct by itself. Nothing is executed.
func (c *census) fitsIntoQuery(ctx context.Context, query string) (bool, error) {
	var fault sql.NullString // 'not implemented' of a PIVOT
	err := c.conn.QueryRowContext(ctx, "SELECT json_serialize_sql(?::VARCHAR)->>'error_type'", "FROM ("+query+"\n)").Scan(&fault)
	if err != nil {
		return false, fmt.Errorf("parsing the query: %w", err)
	}
	return fault.String != "parser", nil
}

func isSyntax(err error) bool {
	var duck *duckdb.Error
	return errors.As(err, &duck) && (duck.Type == duckdb.ErrorTypeParser || duck.Type == duckdb.ErrorTypeSyntax)
}

// refused marks DuckDB's word on a wrong query as the caller's error.
func refused(err error) error {
	var duck *duckdb.Error
	if errors.As(err, &duck) {
		switch duck.Type {
		case duckdb.ErrorTypeParser, duckdb.ErrorTypeSyntax, duckdb.ErrorTypeBinder, duckdb.ErrorTypeCatalog:
			return usagef("%w; 'SHOW TABLES' lists the tables and views, 'DESCRIBE cards' the columns of one", err)
		case duckdb.ErrorTypePermission:
			return usagef("sql only reads, and nothing but the census: %w", err)
		}
	}
	return fmt.Errorf("asking DuckDB: %w", err)
}

// eachRow yields the rows of an answer as text, NULL as an invalid string.
func eachRow(names []string, rows *sql.Rows, use func([]sql.NullString) error) error {
	for rows.Next() {
		values, err := scan(rows, len(names))
		if err != nil {
			return err
		}
		texts := make([]sql.NullString, len(values))
		for i, value := range values {
			switch v := value.(type) {
			case nil:
			case string:
				texts[i] = sql.NullString{String: v, Valid: true}
			default: // of a statement that is no query
				texts[i] = sql.NullString{String: fmt.Sprint(v), Valid: true}
			}
		}
		if err := use(texts); err != nil {
			return err
		}
	}
	return rows.Err()
}

// writeTable writes columns that line up, for a person: always printable.
func writeTable(w io.Writer, _ func(string) string, names []string, rows *sql.Rows) error {
	const most = 120
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	header := make([]string, len(names))
	for i, name := range names {
		header[i] = printable(name)
	}
	if _, err := fmt.Fprintln(table, strings.Join(header, "\t")); err != nil {
		return err
	}
	err := eachRow(names, rows, func(values []sql.NullString) error {
		cells := make([]string, len(values))
		for i, value := range values {
			cells[i] = "NULL"
			if value.Valid {
				cells[i] = shorten(printable(value.String), most)
			}
		}
		_, err := fmt.Fprintln(table, strings.Join(cells, "\t"))
		return err
	})
	return errors.Join(err, table.Flush())
}

// writeCSV writes RFC 4180, with a difference between NULL and "".
func writeCSV(w io.Writer, safe func(string) string, names []string, rows *sql.Rows) error {
	header := make([]string, len(names))
	for i, name := range names {
		header[i] = csvField(safe(name))
	}
	if _, err := fmt.Fprint(w, strings.Join(header, ","), "\n"); err != nil {
		return err
	}
	return eachRow(names, rows, func(values []sql.NullString) error {
		fields := make([]string, len(values))
		for i, value := range values {
			if value.Valid {
				fields[i] = csvField(safe(value.String))
			}
		}
		_, err := fmt.Fprint(w, strings.Join(fields, ","), "\n")
		return err
	})
}

func csvField(text string) string {
	if text == "" || strings.ContainsAny(text, "\",\r\n") {
		return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	}
	return text
}

// writeJSON writes the objects that DuckDB made, one a line.
func writeJSON(w io.Writer, safe func(string) string, names []string, rows *sql.Rows) error {
	return eachRow(names, rows, func(values []sql.NullString) error {
		_, err := fmt.Fprintln(w, safe(finite(values[0].String)))
		return err
	})
}

var stringOrNoNumber = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[-+]?(?i:nan|inf(?:inity)?)`)

// finite makes what DuckDB writes of numbers that JSON does not have null.
func finite(object string) string {
	if json.Valid([]byte(object)) { // nearly always
		return object
	}
	return stringOrNoNumber.ReplaceAllStringFunc(object, func(found string) string {
		if strings.HasPrefix(found, `"`) {
			return found
		}
		return "null"
	})
}
