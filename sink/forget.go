package sink

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// Removed says how many rows of one file were taken out.
type Removed struct {
	Table, Kind, Crawl string
	Rows               int64
}

// Report says what [Forget] did. Files that held no such row are not in it.
type Report struct {
	Removed []Removed
}

// Rows returns the number of rows removed in all.
func (r Report) Rows() int64 {
	var sum int64
	for _, removed := range r.Removed {
		sum += removed.Rows
	}
	return sum
}

// Forget removes every row about a site that covers accepts from the published
// tables under dir, and brings crawls.suppressed up to date, so that rows of
// cards plus suppressed equal crawls.cards as before. Files are replaced whole;
// their other rows, columns, order and metadata stay, those of a newer layout
// too. A file that cannot be rewritten does not keep Forget from the others:
// the errors are joined, and Report tells what was done. Killed in between, it
// can be run again. Only the holder of the output directory's lock may call it.
func Forget(dir string, covers func(host string) bool) (Report, error) {
	var (
		report Report
		errs   []error
	)
	for _, table := range []string{TableName[Card](), TableName[Check]()} {
		files, err := Files(dir, table)
		errs = append(errs, err)
		for _, file := range files {
			rows, err := removeRows(file, covers)
			if err != nil {
				errs = append(errs, fmt.Errorf("removing rows from %s: %w", file.Path, err))
			}
			if rows > 0 {
				report.Removed = append(report.Removed, Removed{Table: table, Kind: file.Kind, Crawl: file.Crawl, Rows: rows})
			}
		}
	}
	errs = append(errs, recountSuppressed(dir))
	return report, errors.Join(errs...)
}

// removeRows rewrites a file without the rows of covered sites, if it has any.
func removeRows(file File, covers func(host string) bool) (int64, error) {
	covered, err := countCovered(file.Path, covers)
	if err != nil || covered == 0 {
		return 0, err
	}
	err = rewrite(file, func(schema *parquet.Schema) (edit, error) {
		site, err := columnOf(schema, "site")
		return func(row parquet.Row) bool { return !covers(valueOf(row, site).String()) }, err
	})
	if err != nil {
		return 0, err
	}
	return covered, nil
}

func countCovered(path string, covers func(host string) bool) (int64, error) {
	var covered int64
	err := withFile(path, func(file *parquet.File) error {
		site, err := columnOf(file.Schema(), "site")
		if err != nil {
			return err
		}
		return eachRow(file, func(row parquet.Row) error {
			if covers(valueOf(row, site).String()) {
				covered++
			}
			return nil
		})
	})
	return covered, err
}

// recountSuppressed sets crawls.suppressed to crawls.cards less the rows of
// cards, for each crawl where it says less.
func recountSuppressed(dir string) error {
	files, err := Files(dir, TableName[CrawlRow]())
	errs := []error{err}
	for _, file := range files {
		if err := recountOne(dir, file); err != nil {
			errs = append(errs, fmt.Errorf("counting what %s suppresses: %w", file.Path, err))
		}
	}
	return errors.Join(errs...)
}

func recountOne(dir string, crawl File) error {
	rows := int64(0)
	err := withFile(TablePath(dir, TableName[Card](), crawl.Kind, crawl.Crawl), func(file *parquet.File) error {
		rows = file.NumRows()
		return nil
	})
	if err != nil {
		return err
	}
	stale := false
	for row, err := range ReadTable[CrawlRow](crawl.Path) {
		if err != nil {
			return err
		}
		stale = stale || row.Suppressed < row.Cards-rows
	}
	if !stale {
		return nil
	}
	return rewrite(crawl, func(schema *parquet.Schema) (edit, error) {
		cards, err1 := columnOf(schema, "cards")
		suppressed, err2 := columnOf(schema, "suppressed")
		return func(row parquet.Row) bool {
			want := valueOf(row, cards).Int64() - rows
			value := valueOf(row, suppressed)
			*value = parquet.Int64Value(want).Level(value.RepetitionLevel(), value.DefinitionLevel(), value.Column())
			return true
		}, errors.Join(err1, err2)
	})
}

// edit changes a row in place and says whether to keep it.
type edit func(parquet.Row) (keep bool)

// rewrite replaces a file by a copy with each row edited. It works on the
// file's own schema, so that columns this version does not know survive.
func rewrite(target File, editor func(*parquet.Schema) (edit, error)) error {
	return withFile(target.Path, func(file *parquet.File) error {
		edit, err := editor(file.Schema())
		if err != nil {
			return err
		}
		pairs := make(map[string]string)
		for _, pair := range file.Metadata().KeyValueMetadata {
			pairs[pair.Key] = pair.Value
		}
		return publish(target.Path, func(w io.Writer) error {
			opts := append(options(layoutOf(target.Table), pairs), file.Schema())
			writer := parquet.NewGenericWriter[any](w, opts...)
			if err := copyRows(writer, file, edit); err != nil {
				return err
			}
			return writer.Close()
		})
	})
}

func copyRows(writer *parquet.GenericWriter[any], file *parquet.File, edit edit) error {
	bytes := 0
	return eachRow(file, func(row parquet.Row) error {
		if !edit(row) {
			return nil
		}
		if _, err := writer.WriteRows([]parquet.Row{row}); err != nil {
			return err
		}
		for _, value := range row {
			bytes += 16
			if value.Kind() == parquet.ByteArray {
				bytes += len(value.ByteArray())
			}
		}
		if bytes < groupBytes {
			return nil
		}
		bytes = 0
		return writer.Flush()
	})
}

// eachRow calls use with every row of file in order; the row is valid until use
// returns.
func eachRow(file *parquet.File, use func(parquet.Row) error) error {
	for _, group := range file.RowGroups() {
		rows := group.Rows()
		if err := errors.Join(eachOf(rows, use), rows.Close()); err != nil {
			return err
		}
	}
	return nil
}

func eachOf(rows parquet.Rows, use func(parquet.Row) error) error {
	buffer := make([]parquet.Row, readRows)
	for {
		n, err := rows.ReadRows(buffer)
		for _, row := range buffer[:n] {
			if err := use(row); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%w: %w", ErrBroken, err)
		case n == 0:
			return fmt.Errorf("%w: rows missing", ErrBroken)
		}
	}
}

// columnOf returns the index of a top-level column that is no list.
func columnOf(schema *parquet.Schema, name string) (int, error) {
	leaf, ok := schema.Lookup(name)
	if !ok {
		return 0, fmt.Errorf("%w: no column %s", ErrBroken, name)
	}
	return leaf.ColumnIndex, nil
}

// valueOf returns the value of a column found by [columnOf]. A row has one of
// each, but those of list columns stand between them.
func valueOf(row parquet.Row, column int) *parquet.Value {
	for i := range row {
		if row[i].Column() == column {
			return &row[i]
		}
	}
	return new(parquet.Value)
}
