package sink

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"agentcensus/sink/wholefile"
)

// groupBytes bounds a row group, and with it the writer's memory: parquet-go
// holds a whole group before it writes any of it.
const groupBytes = 16 << 20

// A batch, which goes to the writer at once, ends with either of these.
const (
	batchRows  = 1024
	batchBytes = 1 << 20
)

// ErrUnsorted is wrapped by the error of [WriteTable] for rows out of order.
var ErrUnsorted = errors.New("rows out of the table's order")

// WriteTable writes the file of one table and crawl under dir and puts it into
// place whole, over an earlier one. Rows come in the table's order, one by one,
// and are not kept; none at all makes a file of 0 rows. On any error, one from
// rows included, nothing is published and no temporary file is left.
func WriteTable[T Row](dir string, meta Meta, rows iter.Seq2[T, error]) error {
	table := TableName[T]()
	if err := meta.check(); err != nil {
		return fmt.Errorf("writing %s: %w", table, err)
	}
	path := TablePath(dir, table, meta.Kind, meta.Crawl)
	if err := makeDirs(dir, filepath.Dir(path)); err != nil {
		return fmt.Errorf("writing %s: %w", table, err)
	}
	if err := wholefile.Write(path, readable, func(f *os.File) error { return encode(f, meta, rows) }); err != nil {
		return fmt.Errorf("writing %s: %w", table, err)
	}
	return nil
}

// encode writes rows to w as one Parquet file.
func encode[T Row](w io.Writer, meta Meta, rows iter.Seq2[T, error]) error {
	opts, err := options(layoutOf(TableName[T]()), metadata(meta))
	if err != nil {
		return err
	}
	writer := parquet.NewGenericWriter[T](w, opts...)
	if err := encodeRows(writer, rows); err != nil {
		return err // the writer holds memory only: nothing to close
	}
	return writer.Close()
}

func encodeRows[T Row](writer *parquet.GenericWriter[T], rows iter.Seq2[T, error]) error {
	var (
		batch            []T
		last             T
		inBatch, inGroup int // bytes
		count            int64
	)
	for row, err := range rows {
		count++
		if err != nil {
			return fmt.Errorf("reading row %d: %w", count, err)
		}
		if count > 1 && compare(last, row) > 0 {
			return fmt.Errorf("row %d: %w", count, ErrUnsorted)
		}
		last, batch, inBatch = row, append(batch, row), inBatch+weight(row)
		if len(batch) < batchRows && inBatch < batchBytes {
			continue
		}
		inGroup += inBatch
		full := inGroup >= groupBytes
		if err := writeBatch(writer, batch, full); err != nil {
			return err
		}
		clear(batch) // or it would hold the bodies until it is full again
		batch, inBatch = batch[:0], 0
		if full {
			inGroup = 0
		}
	}
	return writeBatch(writer, batch, false)
}

// writeBatch hands batch to the writer; last ends the row group with it.
func writeBatch[T Row](writer *parquet.GenericWriter[T], batch []T, last bool) error {
	if _, err := writer.Write(batch); err != nil {
		return err
	}
	if last {
		return writer.Flush()
	}
	return nil
}

// options are the same for every file of a table, whoever rewrites it.
func options(l layout, metadata map[string]string) ([]parquet.WriterOption, error) {
	codec, err := newZstdCodec()
	if err != nil {
		return nil, err
	}
	opts := []parquet.WriterOption{
		parquet.Compression(codec),
		parquet.CreatedBy("agentcensus", metadata["software_version"], ""),
		parquet.SortingWriterConfig(parquet.SortingColumns(l.sort...)),
		// Minimum and maximum of a card body are two bodies, four times over
		// in each page header (parquet-go#469); both options are needed.
		parquet.SkipPageStatistics("card_json"),
		parquet.SkipPageBounds("card_json"),
	}
	for key, value := range metadata {
		opts = append(opts, parquet.KeyValueMetadata(key, value))
	}
	return opts, nil
}

func metadata(m Meta) map[string]string {
	return map[string]string{
		"schema_version":   strconv.Itoa(SchemaVersion),
		"kind":             m.Kind,
		"crawl":            m.Crawl,
		"software_version": m.Version,
		"simulated":        strconv.FormatBool(m.Simulated),
	}
}
