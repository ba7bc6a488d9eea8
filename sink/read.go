package sink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// ErrBroken is wrapped by errors about a file that is no whole Parquet file of
// this project.
var ErrBroken = errors.New("not a whole Parquet file")

// readRows is how many rows are read at a time; a card may take 256 KB.
const readRows = 16

// File is the published file of one table and crawl.
type File struct {
	Path, Table, Kind, Crawl string
}

// Files lists the files of one table under dir, by crawl and then kind. A
// directory without data has none.
func Files(dir, table string) ([]File, error) {
	root := filepath.Join(dir, "data", table)
	kinds, err := subdirs(root, "kind=")
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", table, err)
	}
	var files []File
	for _, kind := range kinds {
		crawls, err := subdirs(filepath.Join(root, "kind="+kind), "crawl=")
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", table, err)
		}
		for _, crawl := range crawls {
			file := File{Path: TablePath(dir, table, kind, crawl), Table: table, Kind: kind, Crawl: crawl}
			if info, err := os.Stat(file.Path); err == nil && info.Mode().IsRegular() {
				files = append(files, file)
			} else if err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, fmt.Errorf("listing %s: %w", table, err)
			}
		}
	}
	slices.SortFunc(files, func(a, b File) int {
		return strings.Compare(a.Crawl+"/"+a.Kind, b.Crawl+"/"+b.Kind)
	})
	return files, nil
}

// subdirs returns what follows prefix in the names of dir's subdirectories.
func subdirs(dir, prefix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if name, ok := strings.CutPrefix(entry.Name(), prefix); ok && entry.IsDir() {
			names = append(names, name)
		}
	}
	return names, nil
}

// ReadTable yields the rows of one file in its order, a few in memory at a
// time. A column that an older file lacks has its zero value, NULL where it can
// be. The first error ends the sequence; a cut, foreign or damaged file's wraps
// [ErrBroken]. It is for files of one's own: single bytes changed within a
// footer can keep parquet-go busy for ever.
func ReadTable[T Row](path string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		err := withFile(path, func(file *parquet.File) error {
			reader, err := guard(func() (*parquet.GenericReader[T], error) {
				return parquet.NewGenericReader[T](file), nil
			})
			if err != nil {
				return err
			}
			return errors.Join(readAll(reader, yield), reader.Close())
		})
		if err != nil && !errors.Is(err, errStopped) {
			var none T
			yield(none, fmt.Errorf("reading %s: %w", path, err))
		}
	}
}

// errStopped says that the consumer of a sequence wants no more.
var errStopped = errors.New("stopped")

func readAll[T Row](reader *parquet.GenericReader[T], yield func(T, error) bool) error {
	rows := make([]T, readRows)
	for {
		clear(rows) // the reader would fill the slices of rows already yielded
		n, err := guard(func() (int, error) { return reader.Read(rows) })
		for _, row := range rows[:n] {
			if !yield(row, nil) {
				return errStopped
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

// withFile opens a Parquet file for use. Both ends are looked at first, since
// parquet-go may hang or panic on bytes that are something else.
func withFile(path string, use func(*parquet.File) error) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := checkEnds(file, info.Size()); err != nil {
		return err
	}
	parsed, err := guard(func() (*parquet.File, error) {
		return parquet.OpenFile(file, info.Size(), parquet.SkipBloomFilters(true))
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return use(parsed)
}

// guard makes a panic of the Parquet library, which damaged files can cause, an
// error. It may hold calls of the library only, never one's own code.
func guard[V any](call func() (V, error)) (value V, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%w: %v", ErrBroken, fault)
		}
	}()
	return call()
}

// checkEnds looks for the format's magic bytes at both ends, and at the length
// of the footer, for which parquet-go would allocate whatever it says.
func checkEnds(r io.ReaderAt, size int64) error {
	const magic = "PAR1"
	if size < int64(2*len(magic)+4) {
		return fmt.Errorf("%w: %d bytes are too few", ErrBroken, size)
	}
	head, tail := make([]byte, len(magic)), make([]byte, 4+len(magic))
	if _, err := r.ReadAt(head, 0); err != nil {
		return fmt.Errorf("reading the first bytes: %w", err)
	}
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil {
		return fmt.Errorf("reading the last bytes: %w", err)
	}
	if string(head) != magic || string(tail[4:]) != magic {
		return fmt.Errorf("%w: it does not begin and end with %s", ErrBroken, magic)
	}
	if footer := int64(binary.LittleEndian.Uint32(tail)); footer > size-int64(len(head)+len(tail)) {
		return fmt.Errorf("%w: a footer of %d bytes in a file of %d", ErrBroken, footer, size)
	}
	return nil
}
