package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"agentcensus/sink/state"
)

// Options say which crawl to open and what it must agree with.
type Options struct {
	Out string // the output directory; made if need be
	// Lock is that directory's lock if the caller holds it: OpenCrawl takes it
	// over, whatever comes of it. nil: OpenCrawl takes the lock itself.
	Lock *Lock
	Kind Kind
	Now  func() time.Time
	List ListInfo
	// Settings are the settings that matter: a crawl goes on only under the
	// ones it began with.
	Settings map[string]string
	// Simulated crawls and real ones never share an output directory.
	Simulated bool
	// Abandon discards an unfinished crawl of this kind and begins anew.
	Abandon bool
	// Replace lets an adhoc crawl take the place of one of the same day.
	Replace bool
	// OutageAfter is how many sites in a row without one HTTP answer mean that
	// the network is gone; 0: 200.
	OutageAfter int
	// RankOf gives the rank of a list's entry, for the rank ranges of the
	// totals; ranks go up with the entries. Entries are counted from 1 to
	// List.Entries, and in a list with gaps in its ranks the two differ. nil:
	// an entry's number is its rank.
	RankOf func(entry int64) int64
	// Vouched says that no answer of a site tells whether the network is there:
	// sites that ended without one are held back until [Crawl.Vouch].
	Vouched bool
	// Committed is told how long each commit of the state took; nil is allowed.
	Committed func(took time.Duration)
}

const outageAfter = 200

// Crawl is one crawl from its start to its tables, through as many processes
// as it takes. Begin and Settle may be called concurrently.
type Crawl struct {
	options Options
	header  Header
	resumed bool
	lock    *Lock
	store   *state.Store

	mu     sync.Mutex
	held   []Record // ended without an answer, not committed yet
	outage bool
	closed bool
}

// CompleteError says that the crawl of this period is complete.
type CompleteError struct {
	Kind   Kind
	Period string // such as 2026-12; empty for adhoc
	Date   string // of the crawl's start, YYYY-MM-DD
	Path   string // of its file of the table crawls
}

func (e *CompleteError) Error() string {
	if e.Period == "" {
		return fmt.Sprintf("the %s crawl of %s is complete: %s", e.Kind, e.Date, e.Path)
	}
	return fmt.Sprintf("the %s crawl of %s, begun on %s, is complete: %s", e.Kind, e.Period, e.Date, e.Path)
}

// ExistsError says that there is an adhoc crawl of this day already.
type ExistsError struct{ Date, Path string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("there is an adhoc crawl of %s already, and it was not asked to be replaced: %s", e.Date, e.Path)
}

// SettingsError says that an unfinished crawl began under another setting.
type SettingsError struct {
	Kind     Kind
	Date     string
	Name     string // of the setting
	Was, Now string
}

func (e *SettingsError) Error() string {
	return fmt.Sprintf("the unfinished %s crawl of %s began with %s %q, now it is %q: go on with the former, or abandon the crawl",
		e.Kind, e.Date, e.Name, e.Was, e.Now)
}

// MixedError says that the output directory holds crawls of the other sort.
type MixedError struct {
	Simulated bool // the new crawl is a simulated one, the others are real
	Path      string
}

func (e *MixedError) Error() string {
	if e.Simulated {
		return fmt.Sprintf("a simulated crawl may not share a directory with real ones: %s is of a real one", e.Path)
	}
	return fmt.Sprintf("a real crawl may not share a directory with simulated ones: %s is of a simulated one", e.Path)
}

// OpenCrawl takes the lock of the output directory and goes on with the
// unfinished crawl of the kind, under its own date whatever the period now, or
// begins one. Sites that were under way when the process before ended are then
// counted as interrupted, durably.
//
// Errors for the caller to tell apart: *LockedError, *CompleteError,
// *ExistsError, *SettingsError, *MixedError, *state.Error (a state file that is
// refused), *UnreadableError (one that could not be read), and those of a full
// disk.
func OpenCrawl(ctx context.Context, o Options) (*Crawl, error) {
	if !o.Kind.known() {
		return nil, fmt.Errorf("there is no kind of crawl %q", o.Kind)
	}
	if o.OutageAfter <= 0 {
		o.OutageAfter = outageAfter
	}
	if o.RankOf == nil {
		o.RankOf = func(entry int64) int64 { return entry }
	}
	lock := o.Lock
	if lock == nil {
		var err error
		if lock, err = AcquireLock(o.Out, string(o.Kind), o.Now()); err != nil {
			return nil, err
		}
	}
	c := &Crawl{options: o, lock: lock}
	if err := c.open(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// open is OpenCrawl under the lock.
func (c *Crawl) open(ctx context.Context) error {
	o := c.options
	if err := CleanTemp(o.Out); err != nil {
		return err
	}
	if err := refuseMixed(o); err != nil {
		return err
	}
	if o.Abandon {
		// The copy of a list stays: it may be the new crawl's.
		if err := errors.Join(state.Remove(statePath(o.Out, o.Kind)), discardUnpublished(o.Out, o.Kind)); err != nil {
			return fmt.Errorf("abandoning the unfinished %s crawl: %w", o.Kind, err)
		}
	}
	unfinished, err := peek(o.Out, o.Kind)
	if err != nil {
		return err
	}
	if unfinished == nil {
		return c.start()
	}
	return c.resume(ctx, *unfinished)
}

// start begins a crawl.
func (c *Crawl) start() error {
	o, now := c.options, c.options.Now().UTC().Truncate(time.Microsecond)
	if err := Complete(o.Out, o.Kind, now); err != nil {
		return err
	}
	c.header = Header{Kind: o.Kind, Started: now, Simulated: o.Simulated, List: o.List, Settings: maps.Clone(o.Settings)}
	if path := c.path(); o.Kind == Adhoc && !o.Replace {
		if _, err := os.Stat(path); err == nil {
			return &ExistsError{Date: c.Date(), Path: path}
		}
	}
	raw, err := json.Marshal(c.header)
	if err != nil {
		return fmt.Errorf("beginning the crawl: %w", err)
	}
	c.store, err = state.Create(statePath(o.Out, o.Kind), state.Header{Entries: o.List.Entries, Settings: raw},
		state.Options{Committed: o.Committed})
	return err
}

// resume goes on with the crawl of h.
func (c *Crawl) resume(ctx context.Context, h Header) error {
	o := c.options
	c.header, c.resumed = h, true
	// Killed after the crawls row was written: only the tidying is left.
	if published, err := c.published(); err != nil {
		return err
	} else if published {
		if err := c.tidy(); err != nil {
			return err
		}
		return &CompleteError{Kind: h.Kind, Period: h.Kind.Period(h.Started), Date: h.Date(), Path: c.path()}
	}
	if err := sameSettings(h, o); err != nil {
		return err
	}
	var err error
	c.store, err = state.Open(statePath(o.Out, o.Kind), state.Options{Committed: o.Committed})
	if err != nil {
		return notRead(h.Kind, err)
	}
	for entry := range c.store.Interrupted() {
		if err := c.end(ctx, Record{Entry: entry, Outcome: outcomeInterrupted, Reason: "crash"}); err != nil {
			return err
		}
	}
	if err := c.store.Count(state.Counter{Key: interruptionsKey, Add: []int64{1}}); err != nil {
		return err
	}
	return c.store.Flush(ctx)
}

// sameSettings compares what a crawl began with with what it is to go on with.
func sameSettings(h Header, o Options) error {
	was, now := settings(h.Settings, h.List), settings(o.Settings, o.List)
	for _, name := range slices.Sorted(maps.Keys(union(was, now))) {
		if was[name] != now[name] {
			return &SettingsError{Kind: h.Kind, Date: h.Date(), Name: name, Was: was[name], Now: now[name]}
		}
	}
	if h.Simulated != o.Simulated {
		return &SettingsError{Kind: h.Kind, Date: h.Date(), Name: "simulated",
			Was: strconv.FormatBool(h.Simulated), Now: strconv.FormatBool(o.Simulated)}
	}
	return nil
}

// settings are the settings and what identifies the list.
func settings(of map[string]string, list ListInfo) map[string]string {
	all := union(of, nil)
	all["list source"], all["list ID"], all["list sha256"] = list.Source, list.ListID, list.SHA256
	all["list entries"] = strconv.FormatInt(list.Entries, 10)
	return all
}

func union(a, b map[string]string) map[string]string {
	all := make(map[string]string, len(a)+len(b))
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// refuseMixed looks for crawls under out that are simulated and are not to be,
// or the other way round.
func refuseMixed(o Options) error {
	files, err := Files(o.Out, TableName[CrawlRow]())
	if err != nil {
		return err
	}
	for _, file := range files {
		for row, err := range ReadTable[CrawlRow](file.Path) {
			if err != nil {
				return err
			}
			if row.Simulated != o.Simulated {
				return &MixedError{Simulated: o.Simulated, Path: file.Path}
			}
		}
	}
	for _, kind := range Kinds {
		if kind == o.Kind && o.Abandon {
			continue
		}
		// A state that is refused speaks for itself when its kind is crawled.
		h, err := peek(o.Out, kind)
		if err == nil && h != nil && h.Simulated != o.Simulated {
			return &MixedError{Simulated: o.Simulated, Path: statePath(o.Out, kind)}
		}
	}
	return nil
}

// Header says what the crawl began with.
func (c *Crawl) Header() Header { return c.header }

// Date is the crawl's name: the UTC date of its start, YYYY-MM-DD.
func (c *Crawl) Date() string { return c.header.Date() }

// Resumed says whether an earlier process began the crawl.
func (c *Crawl) Resumed() bool { return c.resumed }

// Rank is the rank of an entry of the list.
func (c *Crawl) Rank(entry int64) int64 { return c.options.RankOf(entry) }

// Skip says whether an entry has been dealt with: ended, or begun and never to
// be asked again.
func (c *Crawl) Skip(entry int64) bool { return c.store.Begun(entry) }

// Settled is how many sites have ended so far; sites held back are not in it.
func (c *Crawl) Settled() int64 {
	ended, _ := c.store.Progress()
	return ended
}

// Begin marks entries as begun and returns when that is on the disk. Only then
// may their sites be asked.
func (c *Crawl) Begin(ctx context.Context, entries []int64) error {
	return c.store.Begin(ctx, entries)
}

// Close commits what has ended and releases the lock. Sites that are begun, or
// held back, count as interrupted when the crawl goes on. A second Close does
// nothing.
func (c *Crawl) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	var err error
	if c.store != nil {
		err = c.store.Close()
	}
	return errors.Join(err, c.lock.Release())
}

// path is the crawl's file of the table crawls.
func (c *Crawl) path() string {
	return TablePath(c.options.Out, TableName[CrawlRow](), string(c.header.Kind), c.Date())
}
