package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/duckdb/duckdb-go/v2"

	"agentcensus/sink"
)

// census is the data under one directory, open for queries over sink's views.
type census struct {
	dir   string
	files []sink.File // those that the session may read
	db    *sql.DB
	conn  *sql.Conn // one connection: its settings and functions are the session's
}

// openCensus opens the directory that a crawler wrote. Its errors say what to
// do about a directory that is none, has no finished crawl, or has a file that
// is broken. DuckDB can read the census and nothing else, and write in the
// directories named as writable. The caller closes it.
func openCensus(ctx context.Context, dir string, writable ...string) (_ *census, err error) {
	if err := required("data", dir); err != nil {
		return nil, err
	}
	if err := checkDirectory(dir); err != nil {
		return nil, err
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return nil, fmt.Errorf("starting DuckDB: %w", err)
	}
	c := &census{dir: dir, db: db}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	if c.conn, err = db.Conn(ctx); err != nil {
		return nil, fmt.Errorf("starting DuckDB: %w", err)
	}
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	if err := c.restrict(ctx, writable); err != nil {
		return nil, err
	}
	var crawls int
	if err := c.conn.QueryRowContext(ctx, "SELECT count(*) FROM crawls").Scan(&crawls); err != nil {
		return nil, c.explain(ctx, fmt.Errorf("counting the crawls: %w", err))
	}
	if crawls == 0 {
		return nil, noCrawls(dir)
	}
	return c, nil
}

func (c *census) close() error {
	var err error
	if c.conn != nil {
		err = c.conn.Close()
	}
	return errors.Join(err, c.db.Close())
}

// prepare gives the session its settings, functions and views.
func (c *census) prepare(ctx context.Context) error {
	settings := "SET TimeZone = 'UTC'; SET autoinstall_known_extensions = false; SET autoload_known_extensions = false; SET parquet_metadata_cache = true"
	if _, err := c.conn.ExecContext(ctx, settings); err != nil {
		return fmt.Errorf("setting DuckDB up: %w", err)
	}
	if err := duckdb.RegisterScalarUDF(c.conn, "registrable_domain", registrableDomainFunc{}); err != nil {
		return fmt.Errorf("setting DuckDB up: %w", err)
	}
	views, files, err := sink.Views(c.dir)
	if err != nil {
		return err
	}
	c.files = files
	if _, err := c.conn.ExecContext(ctx, views); err != nil {
		return c.explain(ctx, fmt.Errorf("reading the tables: %w", err))
	}
	return nil
}

// restrict takes the rest of the disk and the network from DuckDB. The files are
// named one by one, since in a directory that is allowed DuckDB can write too.
func (c *census) restrict(ctx context.Context, writable []string) error {
	var readable []string
	for _, file := range c.files {
		// It checks the pattern as it is written, and then the file.
		readable = append(readable, file.Path, sink.GlobLiteral(file.Path))
	}
	settings := fmt.Sprintf("SET allowed_paths = %s; SET allowed_directories = %s; SET enable_external_access = false; SET lock_configuration = true",
		textList(readable), textList(writable))
	if _, err := c.conn.ExecContext(ctx, settings); err != nil {
		return fmt.Errorf("setting DuckDB up: %w", err)
	}
	return nil
}

// textList is a list of texts in SQL.
func textList(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = sink.Quote(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]::VARCHAR[]"
}

// checkDirectory tells apart what a person may have meant.
func checkDirectory(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return usagef("there is no directory %s; --data wants the directory that a crawl wrote, its --out", dir)
	case err != nil:
		return usagef("looking at the data: %w", err)
	case !info.IsDir():
		return usagef("%s is a file; --data wants the directory that a crawl wrote, its --out", dir)
	}
	if err := mustOpen("data", dir); err != nil {
		return err
	}
	files, err := sink.Files(dir, sink.TableName[sink.CrawlRow]())
	if err != nil {
		return err
	}
	if len(files) > 0 {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); err == nil {
		return noCrawls(dir)
	}
	begun, err := sink.UnfinishedKinds(dir)
	if err != nil {
		return err
	}
	if len(begun) > 0 {
		return noCrawls(dir)
	}
	if abs, err := filepath.Abs(dir); err == nil && filepath.Base(abs) == "data" {
		return usagef("%s holds no census; try the directory above it: --data %s", dir, filepath.Dir(abs))
	}
	return usagef("%s holds no census: there is no data/ in it; --data wants the directory that a crawl wrote, its --out", dir)
}

// mustOpen refuses a directory by whose name DuckDB finds nothing.
func mustOpen(flag, dir string) error {
	if utf8.ValidString(dir) {
		return nil
	}
	return usagef("--%s %q: the name is not UTF-8, and DuckDB cannot open what is in it; rename the directory", flag, dir)
}

func noCrawls(dir string) error {
	return fmt.Errorf("no crawl under %s is finished, and only finished ones are seen; "+
		"'agentcensus crawl --out %s' makes one, or goes on with the one that was stopped", dir, dir)
}

// explain looks for a broken file behind an error of DuckDB, whose message does
// not always name it, and says what to do about it. Without one, err stands.
func (c *census) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	for _, file := range c.files {
		if broken := c.tryFile(ctx, file.Path); broken != nil {
			return fmt.Errorf("the file %s is broken and stops every query (%w); "+
				"put a copy of it back, or move the files of its crawl (kind=%s, crawl=%s) out of all tables",
				file.Path, broken, file.Kind, file.Crawl)
		}
	}
	return err
}

// tryFile reads every column of one file.
func (c *census) tryFile(ctx context.Context, path string) error {
	rows, err := c.conn.QueryContext(ctx, "SELECT count(COLUMNS(*)) FROM read_parquet("+sink.Quote(sink.GlobLiteral(path))+")")
	if err != nil {
		return err
	}
	for rows.Next() {
		continue
	}
	return errors.Join(rows.Err(), rows.Close())
}

// missingFiles says which tables of which published crawls have no file: their
// rows would silently be none.
func (c *census) missingFiles() ([]string, error) {
	crawls, err := sink.Files(c.dir, sink.TableName[sink.CrawlRow]())
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, crawl := range crawls {
		for _, table := range sink.Schema() {
			if table.Name == sink.TableName[sink.Check]() && crawl.Kind != string(sink.Weekly) {
				continue
			}
			path := sink.TablePath(c.dir, table.Name, crawl.Kind, crawl.Crawl)
			if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
				missing = append(missing, fmt.Sprintf("The %s crawl of %s has no file of the table %s, so its rows are missing here.",
					crawl.Kind, crawl.Crawl, table.Name))
			} else if err != nil {
				return nil, fmt.Errorf("looking at the data: %w", err)
			}
		}
	}
	return missing, nil
}
