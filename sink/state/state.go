// Package state keeps the progress of one crawl in one file, so that a crawl
// killed at any instant can go on without asking anything twice.
//
// It knows ranks, counters and bytes, and nothing of what they mean. It holds
// two bits an entry (begun, ended), counters that are added up, and rows: at
// most one blob for each table and rank. What it promises:
//
//   - when Begin returns nil its ranks are on the disk as begun;
//   - a rank's end, its counters and its rows become durable together, in one
//     transaction, within Options.EndDelay and the time one commit takes;
//   - Open gives back exactly what the last commit wrote, or an error: a cut,
//     torn, foreign or altered file is refused and never repaired by guessing;
//   - the first commit that fails (disk full) fails every later call, and
//     leaves on the disk what the commit before it wrote.
//
// It leaves to others: one process at a time (the lock of package sink), what
// the settings in the header say, and what the rows contain.
//
// The file is a bbolt database. bbolt writes it; this package reads it itself
// (tree.go), because bbolt walks a damaged file with panics and memory faults
// in goroutines of its own, where nobody can recover them.
package state

import (
	"context"
	"fmt"
	"time"
)

// Version is the version of the file's layout. A file of another version is
// refused.
const Version = 1

// Header is what a state file says of itself. It is written once, by Create.
type Header struct {
	Entries  int64  // ranks run from 1 to Entries; at most MaxEntries
	Settings []byte // the caller's own, returned as given
}

// Record is the end of one rank: what is added up and what is kept of it.
type Record struct {
	Rank     int64
	Counters []Counter
	Rows     []Row
}

// Counter adds Add, place by place, to the numbers kept under Key. A key has
// as many places as the longest Add it has seen, at most MaxPlaces.
type Counter struct {
	Key string // not empty, at most MaxKey bytes
	Add []int64
}

// Row is a blob kept for a rank under a table's name.
type Row struct {
	Table string // not empty, at most MaxKey bytes
	Data  []byte // compressed in the file; at most MaxRow bytes
}

// Stored is a row read back.
type Stored struct {
	Rank int64
	Data []byte
}

// Limits of what a Record may hold.
const (
	MaxKey    = 1024     // bytes of a counter's key or a table's name
	MaxPlaces = 16       // numbers under one key
	MaxRow    = 16 << 20 // bytes of a row before compression

	MaxEntries = 1 << 26 // ranks of a crawl
)

// Options are the pace of the commits. The zero value is the default.
type Options struct {
	BeginDelay time.Duration // longest a Begin waits for company; 0: 25 ms
	EndDelay   time.Duration // longest an End waits for company; 0: 100 ms

	// Committed is told how long each commit took. It is called from the
	// store's own goroutine and must return soon. nil: nobody is told.
	Committed func(took time.Duration)
}

const (
	beginDelay = 25 * time.Millisecond
	endDelay   = 100 * time.Millisecond

	// pendingLimit is how much End lets pile up before it waits: rows in
	// compressed bytes, plus a little for each record.
	pendingLimit = 4 << 20
	recordCost   = 256
)

func (o Options) withDefaults() Options {
	if o.BeginDelay <= 0 {
		o.BeginDelay = beginDelay
	}
	if o.EndDelay <= 0 {
		o.EndDelay = endDelay
	}
	return o
}

// Kind says why a state file is refused.
type Kind string

const (
	Foreign Kind = "foreign" // not written by this package
	Other   Kind = "version" // another version's layout
	Damaged Kind = "damaged" // cut, torn or altered
	Busy    Kind = "busy"    // another process has it open
)

// Error is the refusal of a state file.
type Error struct {
	Kind   Kind
	Path   string
	Reason string // what was found, for people
}

func (e *Error) Error() string {
	return fmt.Sprintf("state file %s is refused (%s): %s", e.Path, e.Kind, e.Reason)
}

// ErrClosed is returned by calls on a store after Close.
var ErrClosed = fmt.Errorf("state: the store is closed")

// RankError is a call that no correct caller makes: a rank out of range, or
// one begun or ended a second time.
type RankError struct {
	Rank   int64
	Reason string
}

func (e *RankError) Error() string { return fmt.Sprintf("state: rank %d: %s", e.Rank, e.Reason) }

// waitError is the end of a context while a call waited for the disk.
func waitError(ctx context.Context, doing string) error {
	return fmt.Errorf("state: %s: %w", doing, context.Cause(ctx))
}
