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
// over them. It names the files that lie under dir now, so that all queries of a
// session see the same: a table without any is defined empty. A crawl without
// its row in crawls is not seen.
func Views(dir string) (sql string, files []File, err error) {
	return views(dir, filesOf)
}

// views looks for files under dir, and returns them too. The rows of those of
// one table are what read returns, a SELECT.
func views(dir string, read func([]File) string) (_ string, all []File, _ error) {
	var sql strings.Builder
	sql.WriteString("-- agentcensus: views over the Parquet files of the census. Made by the crawler; its next crawl\n" +
		"-- writes this file anew. Times are UTC: SET TimeZone = 'UTC' before you cut them into days.\n\n")
	for _, table := range Schema() {
		files, err := Files(dir, table.Name)
		if err != nil {
			return "", nil, fmt.Errorf("making the views: %w", err)
		}
		all = append(all, files...)
		rows := ""
		if len(files) > 0 { // DuckDB refuses a glob without a match
			rows = read(files)
		}
		tableView(&sql, table, rows)
	}
	sql.WriteString(analystViews)
	return sql.String(), all, nil
}

// QuestionsFile is the name of the file of questions that [WriteViews] writes.
const QuestionsFile = "questions.sql"

// WriteViews writes the views into the output directory out, with paths
// relative to it: cd OUT && duckdb -init views.sql. The questions that they
// were made for lie beside them, each with its query.
func WriteViews(out string) error {
	sql, _, err := views(out, globOf)
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

// tableView writes the view of one table over rows, a SELECT or nothing. The
// empty SELECT comes first so that every column exists with its type however old
// the files are.
func tableView(sql *strings.Builder, table Table, rows string) {
	fmt.Fprintf(sql, "-- %s\n", sentence(table.Doc))
	fmt.Fprintf(sql, "CREATE OR REPLACE VIEW %s AS\nWITH files AS (\n    SELECT ", table.Name)
	for i, column := range table.Columns {
		if i > 0 {
			sql.WriteString(",\n           ")
		}
		fmt.Fprintf(sql, "NULL::%s AS %s", column.Type, column.Name)
	}
	sql.WriteString("\n    WHERE false")
	if rows != "" {
		sql.WriteString("\n    UNION ALL BY NAME\n    " + rows)
	}
	sql.WriteString("\n)\n")
	if table.Name == TableName[CrawlRow]() {
		sql.WriteString("SELECT *, row_number() OVER (ORDER BY kind = 'monthly' DESC, crawl DESC, started DESC) = 1 AS latest FROM files;\n\n")
		return
	}
	sql.WriteString("SELECT files.*, crawls.latest FROM files JOIN crawls USING (kind, crawl);\n\n")
}

// hive takes kind and crawl from the path.
const hive = "SELECT * FROM read_parquet(%s, union_by_name = true, hive_partitioning = true,\n" +
	"        hive_types = {'kind': VARCHAR, 'crawl': DATE})"

// globOf reads the table that files are of, in a session started in the output
// directory.
func globOf(files []File) string {
	table := files[0].Table
	return fmt.Sprintf(hive, "'data/"+table+"/kind=*/crawl=*/"+table+".parquet'")
}

// filesOf reads these files and no other.
func filesOf(files []File) string {
	var list strings.Builder
	ambiguous := false
	for i, file := range files {
		if i > 0 {
			list.WriteString(", ")
		}
		list.WriteString(Quote(GlobLiteral(file.Path)))
		ambiguous = ambiguous || strings.Count(file.Path, "=") > 2
	}
	if !ambiguous {
		return fmt.Sprintf(hive, "["+list.String()+"]")
	}
	// DuckDB would take a name=value of a directory above for a column, and the
	// first kind and crawl of the path for the row's. It skips no files this way.
	return fmt.Sprintf("SELECT * EXCLUDE (file), parse_path(file, 'both_slash')[-3][6:] AS kind, parse_path(file, 'both_slash')[-2][7:]::DATE AS crawl\n"+
		"    FROM read_parquet([%s], union_by_name = true, hive_partitioning = false, filename = 'file')", list.String())
}

// Quote is a text in SQL.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// GlobLiteral makes the characters of a path that mean something in a pattern of
// DuckDB mean themselves.
func GlobLiteral(path string) string {
	return strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]").Replace(path)
}
