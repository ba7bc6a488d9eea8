package sink

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agentcensus/sink/wholefile"
)

//go:embed views.sql
var analystViews string

// ViewsFile is the name of the file that [WriteViews] writes.
const ViewsFile = "views.sql"

// Views returns the SQL that gives DuckDB the tables under dir and the views
// over them: dir "." for a session started there. It holds for the files that
// lie under dir now: a table without any is defined empty, since DuckDB refuses
// a glob without a match. A crawl without its row in crawls is not seen.
func Views(dir string) (string, error) {
	return views(dir, dir)
}

// views looks for files under dir, and names them as a session sees them to
// which dir is seen.
func views(dir, seen string) (string, error) {
	var sql strings.Builder
	sql.WriteString("-- agentcensus: views over the Parquet files of the census. Made by the crawler; its next crawl\n" +
		"-- writes this file anew. Times are UTC: SET TimeZone = 'UTC' before you cut them into days.\n\n")
	for _, table := range Schema() {
		files, err := Files(dir, table.Name)
		if err != nil {
			return "", fmt.Errorf("making the views: %w", err)
		}
		tableView(&sql, seen, table, len(files) > 0)
	}
	sql.WriteString(analystViews)
	return sql.String(), nil
}

// QuestionsFile is the name of the file of questions that [WriteViews] writes.
const QuestionsFile = "questions.sql"

// WriteViews writes the views into the output directory out, with paths
// relative to it: cd OUT && duckdb -init views.sql. The questions that they
// were made for lie beside them, each with its query.
func WriteViews(out string) error {
	sql, err := views(out, ".")
	if err != nil {
		return err
	}
	for _, file := range []struct{ name, text string }{{ViewsFile, sql}, {QuestionsFile, questionsSQL}} {
		if err := wholefile.Write(filepath.Join(out, file.name), readable, func(f *os.File) error {
			_, err := f.WriteString(file.text)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// tableView writes the view of one table. The empty SELECT comes first so that
// every column exists with its type however old the files are.
func tableView(sql *strings.Builder, dir string, table Table, files bool) {
	fmt.Fprintf(sql, "-- %s\n", sentence(table.Doc))
	fmt.Fprintf(sql, "CREATE OR REPLACE VIEW %s AS\nWITH files AS (\n    SELECT ", table.Name)
	for i, column := range table.Columns {
		if i > 0 {
			sql.WriteString(",\n           ")
		}
		fmt.Fprintf(sql, "NULL::%s AS %s", column.Type, column.Name)
	}
	sql.WriteString("\n    WHERE false")
	if files {
		fmt.Fprintf(sql, "\n    UNION ALL BY NAME\n    SELECT * FROM read_parquet('%s', union_by_name = true, hive_partitioning = true,\n"+
			"        hive_types = {'kind': VARCHAR, 'crawl': DATE})", fileGlob(dir, table.Name))
	}
	sql.WriteString("\n)\n")
	if table.Name == TableName[CrawlRow]() {
		sql.WriteString("SELECT *, row_number() OVER (ORDER BY kind = 'monthly' DESC, crawl DESC, started DESC) = 1 AS latest FROM files;\n\n")
		return
	}
	sql.WriteString("SELECT files.*, crawls.latest FROM files JOIN crawls USING (kind, crawl);\n\n")
}

// fileGlob returns the pattern of a table's files, quoted for SQL. Characters of
// dir that mean something in a pattern are made to mean themselves.
func fileGlob(dir, table string) string {
	literal := strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]", "'", "''")
	path := filepath.ToSlash(filepath.Join("data", table, "kind=*", "crawl=*", table+".parquet"))
	if dir == "." {
		return path
	}
	return literal.Replace(filepath.ToSlash(filepath.Clean(dir))) + "/" + path
}
