package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/klauspost/compress/zstd"
	"go.etcd.io/bbolt"
)

// readBatch is how many compressed bytes of rows are read at a time.
const readBatch = 1 << 20

// Rows yields the rows of a table that are on the disk, in the order of their
// ranks; call Flush before it to have all. They are read with plain reads a
// batch at a time, never through the memory map, whose pages would all count
// as the process's memory. Rows committed meanwhile may or may not be seen.
func (s *Store) Rows(table string) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(MaxRow))
		if err != nil {
			yield(Stored{}, fmt.Errorf("state: %w", err))
			return
		}
		defer decoder.Close()
		next := rankKey(0)
		for {
			batch, err := s.readRows(table, next)
			if err != nil {
				yield(Stored{}, fmt.Errorf("reading the %s of the state file: %w", table, err))
				return
			}
			if len(batch) == 0 {
				return
			}
			for _, row := range batch {
				data, err := decoder.DecodeAll(row.Data, nil)
				if err != nil {
					err = fmt.Errorf("unpacking a row of the state file: rank %d of %s: %w", row.Rank, table, err)
				}
				if !yield(Stored{Rank: row.Rank, Data: data}, err) || err != nil {
					return
				}
			}
			next = rankKey(batch[len(batch)-1].Rank + 1)
		}
	}
}

// readRows reads about readBatch bytes of a table's rows, still compressed,
// from the key on.
func (s *Store) readRows(table string, from []byte) ([]Stored, error) {
	s.io.RLock()
	defer s.io.RUnlock()
	info, err := s.file.Stat()
	if err != nil {
		return nil, err
	}
	m, err := readMeta(s.file, info.Size())
	if err != nil {
		return nil, err
	}
	w := &walker{r: s.file, pages: m.pages}
	buckets, err := w.buckets(m.root)
	if err != nil {
		return nil, err
	}
	b, ok := buckets[rowsPrefix+table]
	if !ok {
		return nil, nil
	}
	var batch []Stored
	size := 0
	w.from = from
	w.visit = func(e element) error {
		if len(e.key) != 8 {
			return fmt.Errorf("a row under the key %x", e.key)
		}
		batch = append(batch, Stored{Rank: int64(binary.BigEndian.Uint64(e.key)), Data: bytes.Clone(e.value)})
		if size += len(e.value); size >= readBatch {
			return errStop
		}
		return nil
	}
	if err := w.walk(b); err != nil && !errors.Is(err, errStop) {
		return nil, err
	}
	return batch, nil
}

// DeleteRows removes the rows of a table that match and returns how many. The
// bytes stay in the file's free pages until Compact.
func (s *Store) DeleteRows(table string, match func(Stored) bool) (int, error) {
	var ranks []int64
	for row, err := range s.Rows(table) {
		if err != nil {
			return 0, err
		}
		if match(row) {
			ranks = append(ranks, row.Rank)
		}
	}
	if len(ranks) == 0 {
		return 0, nil
	}
	err := s.update(func(w *writer) error {
		for _, rank := range ranks {
			if err := w.remove(rowsPrefix+table, rankKey(rank)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("deleting from the %s of the state file: %w", table, err)
	}
	return len(ranks), nil
}

// Compact rewrites the closed state file at path without its free pages, so
// that nothing of deleted rows is left in it. The old file stays until the new
// one is whole.
func Compact(path string) error {
	if _, err := inspect(path); err != nil {
		return err
	}
	fresh := path + ".new"
	if err := removeIfThere(fresh); err != nil {
		return fmt.Errorf("compacting the state file: %w", err)
	}
	err := compact(fresh, path)
	if err == nil {
		_, err = inspect(fresh)
	}
	if err == nil {
		err = publish(fresh, path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("compacting the state file: %w", diskError(err)), removeIfThere(fresh))
	}
	return nil
}

func compact(to, from string) (err error) {
	source, err := openBolt(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := openBolt(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	return bbolt.Compact(target, source, readBatch)
}

// Remove deletes the closed state file at path and what a killed Create or
// Compact left beside it. It is no error when there is none.
func Remove(path string) error {
	for _, name := range []string{path, path + ".new"} {
		if err := removeIfThere(name); err != nil {
			return fmt.Errorf("removing the state file: %w", err)
		}
	}
	return nil
}
