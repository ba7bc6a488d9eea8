package state

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

// Store is an open state file. Its methods may be called concurrently.
type Store struct {
	path    string
	header  Header
	options Options
	encoder *zstd.Encoder

	kick chan struct{} // a look at the pending batch is due
	stop chan struct{} // closed by Close
	done chan struct{} // closed by the committer as its last act

	mu       sync.Mutex // guards what follows
	progress progress   // pending batch included
	counters map[string][]int64
	pending  *batch // collects until it is due
	flight   *batch // being committed; nil when none is
	closed   bool
	err      error // the first failed commit's, for good

	// Owned by the committer; others hold io for reading.
	io     sync.RWMutex
	db     *bbolt.DB
	file   *os.File // the same file, read without the memory map
	digest digest
}

// Create makes a new state file at path, which must not exist, and opens it.
// Killed at any instant it leaves the whole file or none.
func Create(path string, h Header, o Options) (*Store, error) {
	if h.Entries < 0 || h.Entries > MaxEntries {
		return nil, fmt.Errorf("state: %d entries are out of range", h.Entries)
	}
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("creating the state file %s: %w", path, os.ErrExist)
	}
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("creating the state file: %w", err)
	}
	if err := create(fresh, h); err != nil {
		return nil, errors.Join(fmt.Errorf("creating the state file: %w", diskError(err)), removeIfThere(fresh))
	}
	if err := publish(fresh, path); err != nil {
		return nil, errors.Join(fmt.Errorf("creating the state file: %w", err), removeIfThere(fresh))
	}
	return Open(path, o)
}

func create(path string, h Header) (err error) {
	db, err := openBolt(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.Update(func(tx *bbolt.Tx) error {
		for _, name := range []string{headerBucket, progressBucket, counterBucket, digestBucket} {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		w := writer{tx: tx}
		for key, value := range headerFields(h) {
			if err := w.put(headerBucket, []byte(key), value); err != nil {
				return err
			}
		}
		return w.finish()
	})
}

// Open opens the state file at path after reading and checking all of it. The
// error is an *Error when the file is refused, and wraps os.ErrNotExist when
// there is none.
func Open(path string, o Options) (*Store, error) {
	img, err := inspect(path)
	if err != nil {
		return nil, err
	}
	db, err := openBolt(path)
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return nil, &Error{Kind: Busy, Path: path, Reason: "another process has it open"}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the state file: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the state file: %w", err), db.Close())
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2), zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("state: %w", err), file.Close(), db.Close())
	}
	s := &Store{
		path:     path,
		header:   img.header,
		options:  o.withDefaults(),
		encoder:  encoder,
		kick:     make(chan struct{}, 1),
		stop:     make(chan struct{}),
		done:     make(chan struct{}),
		progress: img.progress,
		counters: img.counters,
		pending:  newBatch(),
		db:       db,
		file:     file,
		digest:   img.digest,
	}
	go s.commitLoop()
	return s, nil
}

// Peek reads the header of the state file at path, which no process may have
// open. It checks the whole file as Open does.
func Peek(path string) (Header, error) {
	img, err := inspect(path)
	if err != nil {
		return Header{}, err
	}
	return img.header, nil
}

// Header returns the header given to Create.
func (s *Store) Header() Header { return s.header }

// Begin marks ranks as begun and returns when that is on the disk: only then
// may they be asked. A rank that has begun or ended before is a *RankError,
// and then none of ranks is marked. When ctx ends first the ranks may or may
// not be begun, and must not be asked.
func (s *Store) Begin(ctx context.Context, ranks []int64) error {
	if len(ranks) == 0 {
		return nil
	}
	s.mu.Lock()
	if err := s.admit(ranks); err != nil {
		s.mu.Unlock()
		return err
	}
	b := s.pending
	s.due(s.options.BeginDelay)
	s.mu.Unlock()
	return b.wait(ctx, "beginning")
}

// admit marks ranks as begun, all or none. The caller holds mu.
func (s *Store) admit(ranks []int64) error {
	if err := s.usable(); err != nil {
		return err
	}
	for i, rank := range ranks {
		var reason string
		switch {
		case !s.progress.holds(rank):
			reason = fmt.Sprintf("begun, but there are %d entries", s.header.Entries)
		case s.progress.get(rank) != 0:
			reason = "begun twice"
		default:
			s.pending.chunks[s.progress.set(rank, begunBit)] = true
			continue
		}
		for _, r := range ranks[:i] {
			s.progress.clear(r)
		}
		return &RankError{Rank: rank, Reason: reason}
	}
	return nil
}

// End marks r.Rank as ended, adds its counters and keeps its rows. It returns
// before that is on the disk: see Flush. It waits only while more is pending
// than the disk takes up. A rank may end without having begun, but not twice.
func (s *Store) End(ctx context.Context, r Record) error {
	if err := valid(r.Counters); err != nil {
		return fmt.Errorf("state: rank %d: %w", r.Rank, err)
	}
	rows, size, err := s.compress(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil && !s.closed && s.pending.size > pendingLimit {
		b := s.pending
		s.due(0)
		s.mu.Unlock()
		err := b.wait(ctx, "ending")
		s.mu.Lock()
		if err != nil {
			return err
		}
	}
	if err := s.usable(); err != nil {
		return err
	}
	switch {
	case !s.progress.holds(r.Rank):
		return &RankError{Rank: r.Rank, Reason: fmt.Sprintf("ended, but there are %d entries", s.header.Entries)}
	case s.progress.get(r.Rank)&endedBit != 0:
		return &RankError{Rank: r.Rank, Reason: "ended twice"}
	}
	s.pending.chunks[s.progress.set(r.Rank, begunBit|endedBit)] = true
	for _, c := range r.Counters {
		s.add(c)
	}
	s.pending.rows = append(s.pending.rows, rows...)
	s.pending.size += size + recordCost
	s.due(s.options.EndDelay)
	return nil
}

// add adds a counter up. The caller holds mu.
func (s *Store) add(c Counter) {
	numbers := s.counters[c.Key]
	for len(numbers) < len(c.Add) {
		numbers = append(numbers, 0)
	}
	for i, n := range c.Add {
		numbers[i] += n
	}
	s.counters[c.Key] = numbers
	s.pending.counters[c.Key] = true
}

// Count adds counters that belong to no rank. It returns before that is on the
// disk: see Flush.
func (s *Store) Count(counters ...Counter) error {
	if err := valid(counters); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	for _, c := range counters {
		s.add(c)
	}
	s.due(s.options.EndDelay)
	return nil
}

func valid(counters []Counter) error {
	for _, c := range counters {
		if c.Key == "" || len(c.Key) > MaxKey || len(c.Add) == 0 || len(c.Add) > MaxPlaces {
			return fmt.Errorf("a counter of %d numbers under %q", len(c.Add), c.Key)
		}
	}
	return nil
}

// compress checks a record's rows and makes them ready for the file.
func (s *Store) compress(r Record) (rows []pendingRow, size int, err error) {
	for _, row := range r.Rows {
		if row.Table == "" || len(row.Table) > MaxKey || len(row.Data) > MaxRow {
			return nil, 0, fmt.Errorf("state: rank %d: a row of %d bytes in table %q", r.Rank, len(row.Data), row.Table)
		}
		data := s.encoder.EncodeAll(row.Data, nil)
		rows = append(rows, pendingRow{table: row.Table, rank: r.Rank, data: data})
		size += len(data)
	}
	return rows, size, nil
}

// Flush returns when everything that ended before it is on the disk.
func (s *Store) Flush(ctx context.Context) error {
	s.mu.Lock()
	if err := s.usable(); err != nil {
		s.mu.Unlock()
		return err
	}
	b := s.flight
	if !s.pending.empty() {
		b = s.pending
		s.due(0)
	}
	s.mu.Unlock()
	if b == nil {
		return nil
	}
	return b.wait(ctx, "flushing")
}

// Begun says whether rank has begun; false for one out of range.
func (s *Store) Begun(rank int64) bool { return s.bits(rank)&begunBit != 0 }

// Ended says whether rank has ended; false for one out of range.
func (s *Store) Ended(rank int64) bool { return s.bits(rank)&endedBit != 0 }

func (s *Store) bits(rank int64) byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.progress.holds(rank) {
		return 0
	}
	return s.progress.get(rank)
}

// Interrupted yields the ranks that have begun and not ended, in order. Right
// after Open these are the ones under way when the process before it died.
func (s *Store) Interrupted() iter.Seq[int64] {
	s.mu.Lock()
	ranks := slices.Collect(s.progress.open())
	s.mu.Unlock()
	return slices.Values(ranks)
}

// Progress is how many ranks have ended, and how many have begun and not
// ended.
func (s *Store) Progress() (ended, open int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.progress.count()
}

// Counters returns the numbers added up so far, by key.
func (s *Store) Counters() map[string][]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := maps.Clone(s.counters)
	for key, numbers := range all {
		all[key] = slices.Clone(numbers)
	}
	return all
}

// Close commits what is pending and closes the file. It returns the first
// failed commit's error, if there was one. A second Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		<-s.done
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	close(s.stop)
	<-s.done
	s.io.Lock()
	defer s.io.Unlock()
	s.mu.Lock()
	err := s.err
	s.mu.Unlock()
	return errors.Join(err, s.encoder.Close(), s.file.Close(), s.db.Close())
}

// usable is the error every call returns after a failed commit or a Close. The
// caller holds mu.
func (s *Store) usable() error {
	if s.err != nil {
		return s.err
	}
	if s.closed {
		return ErrClosed
	}
	return nil
}

// due asks for a commit of the pending batch within d. The caller holds mu.
func (s *Store) due(d time.Duration) {
	at := time.Now().Add(d)
	if !s.pending.due.IsZero() && !at.Before(s.pending.due) {
		return
	}
	s.pending.due = at
	select {
	case s.kick <- struct{}{}:
	default: // a look is due already
	}
}

// publish renames a finished file into place, durably.
func publish(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
