package state

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
)

const (
	// allocSize is how much the file grows beyond its need at a time.
	allocSize = 1 << 20
	// mapSize is how much is mapped at first, so that a usual crawl never maps
	// anew. It costs addresses, not memory.
	mapSize = 256 << 20
	// unmapEvery is after how many rounds of the committer the pages that were read through the
	// map are let go of.
	unmapEvery = 64
	// lockWait is how long bbolt waits for a process that has the file open.
	lockWait = 100 * time.Millisecond
)

func boltOptions() *bbolt.Options {
	return &bbolt.Options{
		PageSize:        pageSize, // whatever the machine's
		InitialMmapSize: mapSize,
		// The list of free pages is found again by the check at Open, and costs
		// a commit a fifth of its time.
		NoFreelistSync: true,
		FreelistType:   bbolt.FreelistMapType,
		Timeout:        lockWait,
	}
}

func openBolt(path string) (*bbolt.DB, error) {
	db, err := bbolt.Open(path, 0o600, boltOptions())
	if err != nil {
		return nil, err
	}
	db.AllocSize = allocSize
	return db, nil
}

// batch is what one commit writes. It collects names of what changed; the
// values are taken when it leaves, so that a counter changed a hundred times
// is written once.
type batch struct {
	chunks   map[uint32]bool
	counters map[string]bool
	rows     []pendingRow
	size     int       // what it holds in memory, in bytes, roughly
	due      time.Time // zero while it is empty

	done chan struct{} // closed when committed or failed
	err  error         // set before done is closed
}

type pendingRow struct {
	table string
	rank  int64
	data  []byte // a zstd frame
}

func newBatch() *batch {
	return &batch{chunks: map[uint32]bool{}, counters: map[string]bool{}, done: make(chan struct{})}
}

func (b *batch) empty() bool { return b.due.IsZero() }

// wait waits for the commit of b.
func (b *batch) wait(ctx context.Context, doing string) error {
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		return waitError(ctx, doing)
	}
}

// commitLoop commits each batch when it is due, and what is left when the
// store is closed. It is the only goroutine that writes.
func (s *Store) commitLoop() {
	defer close(s.done)
	// A fault in bbolt's memory map (the file cut by someone else, a disk that
	// cannot be read) becomes a panic, and write makes that an error.
	debug.SetPanicOnFault(true)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := 1; ; n++ {
		if n%unmapEvery == 0 {
			s.unmap()
		}
		s.mu.Lock()
		due := s.pending.due
		s.mu.Unlock()
		timer.Stop()
		if !due.IsZero() {
			timer.Reset(time.Until(due))
		}
		select {
		case <-s.kick:
		case <-timer.C:
			s.commit()
		case <-s.stop:
			s.commit()
			return
		}
	}
}

// unmap keeps the file's pages from piling up as the process's memory.
func (s *Store) unmap() {
	info, err := s.file.Stat()
	if err != nil {
		return // the next commit will say what is wrong with it
	}
	unmapPages(s.db, min(info.Size(), mapSize))
}

// commit writes the pending batch and tells those who wait for it.
func (s *Store) commit() {
	s.mu.Lock()
	b := s.pending
	if b.empty() {
		s.mu.Unlock()
		return
	}
	s.pending, s.flight = newBatch(), b
	err := s.err
	records := s.records(b)
	s.mu.Unlock()

	if err == nil {
		began := time.Now()
		if err = s.write(records, b.rows); err != nil {
			err = fmt.Errorf("writing the state file %s: %w", s.path, err)
		} else if s.options.Committed != nil {
			s.options.Committed(time.Since(began))
		}
	}

	s.mu.Lock()
	s.flight, s.err = nil, err
	s.mu.Unlock()
	b.err = err
	close(b.done)
}

// record is one key and its new value.
type record struct {
	bucket     string
	key, value []byte
}

// records are the changed chunks and counters of b as they are now. The caller
// holds mu.
func (s *Store) records(b *batch) []record {
	records := make([]record, 0, len(b.chunks)+len(b.counters))
	for n := range b.chunks {
		records = append(records, record{progressBucket, chunkKey(n), append([]byte(nil), s.progress.chunk(n)...)})
	}
	for key := range b.counters {
		records = append(records, record{counterBucket, []byte(key), encodeCounter(s.counters[key])})
	}
	return records
}

// write commits records and rows in one transaction.
func (s *Store) write(records []record, rows []pendingRow) error {
	return s.update(func(w *writer) error {
		for _, r := range records {
			if err := w.put(r.bucket, r.key, r.value); err != nil {
				return err
			}
		}
		for _, row := range rows {
			name := rowsPrefix + row.table
			if _, err := w.tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
			if err := w.put(name, rankKey(row.rank), row.data); err != nil {
				return err
			}
		}
		return nil
	})
}

// update runs one transaction and keeps the digest.
func (s *Store) update(change func(*writer) error) (err error) {
	s.io.Lock()
	defer s.io.Unlock()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the file cannot be read any more: %v", p)
		}
	}()
	var after digest
	err = s.db.Update(func(tx *bbolt.Tx) error {
		w := writer{tx: tx, digest: s.digest}
		if err := change(&w); err != nil {
			return err
		}
		after = w.digest
		return w.finish()
	})
	if err != nil {
		return diskError(err)
	}
	s.digest = after
	return nil
}

// writer writes records and keeps the digest of them.
type writer struct {
	tx     *bbolt.Tx
	digest digest
}

func (w *writer) put(bucket string, key, value []byte) error {
	b := w.tx.Bucket([]byte(bucket))
	if old := b.Get(key); old != nil {
		w.digest.remove(bucket, key, old)
	}
	w.digest.add(bucket, key, value)
	return b.Put(key, value)
}

func (w *writer) remove(bucket string, key []byte) error {
	b := w.tx.Bucket([]byte(bucket))
	old := b.Get(key)
	if old == nil {
		return nil
	}
	w.digest.remove(bucket, key, old)
	return b.Delete(key)
}

// finish writes the digest; it is a transaction's last act.
func (w *writer) finish() error {
	return w.tx.Bucket([]byte(digestBucket)).Put([]byte(digestKey), w.digest.encode())
}

// diskError gives back the error number that bbolt 1.5 turns into text when
// the file cannot grow (db.grow), so that a full disk is told from others.
func diskError(err error) error {
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EFBIG, syscall.EDQUOT, syscall.EIO, syscall.EROFS} {
		if !errors.Is(err, errno) && strings.Contains(err.Error(), errno.Error()) {
			return fmt.Errorf("%w (%w)", err, errno)
		}
	}
	return err
}
