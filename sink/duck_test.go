package sink

import (
	"database/sql"
	"iter"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
)

// openDuck opens DuckDB with the views over dir.
func openDuck(t *testing.T, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	db.SetMaxOpenConns(1) // the session zone belongs to a connection
	run(t, db, "SET TimeZone = 'UTC'")
	views, _, err := Views(dir)
	if err != nil {
		t.Fatal(err)
	}
	run(t, db, views)
	return db
}

func run(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%v\n%.300s", err, statement)
	}
}

// answer returns the rows of a query as text, a row a string, columns joined by
// " | ". NULL is written NULL, so that it is told from "".
func answer(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT COLUMNS(*)::VARCHAR FROM ("+query+")")
	if err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
	defer func() {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		targets := make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		line := ""
		for i, value := range values {
			if i > 0 {
				line += " | "
			}
			if value.Valid {
				line += value.String
			} else {
				line += "NULL"
			}
		}
		found = append(found, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
	return found
}

// put writes the rows of one table.
func put[T Row](t *testing.T, dir string, meta Meta, rows ...T) {
	t.Helper()
	if err := WriteTable(dir, meta, sequence(rows)); err != nil {
		t.Fatal(err)
	}
}

func sequence[T any](rows []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

func ptr[T any](v T) *T { return &v }

func pathOf[T Row](dir string, meta Meta) string {
	return TablePath(dir, TableName[T](), meta.Kind, meta.Crawl)
}
