package sink

import (
	"errors"
	"fmt"
	"os"

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
	if errors.Is(err, os.ErrNotExist) {
		return nil // nothing to count, and nothing that could be removed
	}
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
