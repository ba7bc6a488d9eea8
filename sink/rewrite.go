package sink

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go"

	"agentcensus/sink/wholefile"
)

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
		return wholefile.Write(target.Path, readable, func(f *os.File) error {
			opts, err := options(layoutOf(target.Table), pairs)
			if err != nil {
				return err
			}
			writer := parquet.NewGenericWriter[any](f, append(opts, file.Schema())...)
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
		n, err := guard(func() (int, error) { return rows.ReadRows(buffer) })
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
