package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"agentcensus/sink/state"
	"agentcensus/sink/wholefile"
)

// Facts are what a crawl's row in crawls says beside its header and totals.
type Facts struct {
	UserAgent, KeyID, SoftwareVersion string

	// MissingCheck gives the row of checks for a publisher that has none yet
	// because its site was interrupted; false: it is to have none. It is asked
	// in the order of entries, in weekly crawls only. nil: none is to have any.
	MissingCheck func(entry int64) (Check, bool)
	// OmitCheck says of a row of checks that it is not to be published after
	// all. nil: all are.
	OmitCheck func(Check) bool
}

// Summary is what a finished crawl came to.
type Summary struct {
	Crawl  CrawlRow
	Totals *Totals
	Path   string // of the crawl's file of the table crawls
}

// UnfinishedError says that sites of the list have not ended.
type UnfinishedError struct{ Ended, Entries int64 }

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("the crawl is not finished: %d of %d sites have ended", e.Ended, e.Entries)
}

// Finish writes the tables of a crawl whose sites have all ended, the row in
// crawls last, and removes its state. Sites still held back end as they are:
// no later site can tell of an outage, and fewer than Options.OutageAfter are
// no proof of one. Killed or failed in between it is done again by the next
// OpenCrawl and Finish. Close has still to be called.
func (c *Crawl) Finish(ctx context.Context, facts Facts) (Summary, error) {
	c.mu.Lock()
	err := c.release(ctx)
	c.mu.Unlock()
	if err != nil {
		return Summary{}, err
	}
	if err := c.store.Flush(ctx); err != nil {
		return Summary{}, err
	}
	if ended := c.Settled(); ended != c.header.List.Entries {
		return Summary{}, &UnfinishedError{Ended: ended, Entries: c.header.List.Entries}
	}
	totals, err := c.Totals()
	if err != nil {
		return Summary{}, err
	}
	if sum := totals.Sites(""); sum != c.header.List.Entries {
		return Summary{}, fmt.Errorf("the totals add up to %d sites of %d: nothing is published", sum, c.header.List.Entries)
	}
	if err := c.withdraw(); err != nil {
		return Summary{}, fmt.Errorf("withdrawing the crawl that is replaced: %w", err)
	}
	cards, err := c.writeTables(totals, facts)
	if err != nil {
		return Summary{}, err
	}
	row, err := c.crawlRow(totals, cards, facts)
	if err != nil {
		return Summary{}, err
	}
	if err := WriteTable(c.options.Out, c.meta(facts), list(row)); err != nil {
		return Summary{}, err
	}
	if err := c.store.Close(); err != nil {
		return Summary{}, err
	}
	return Summary{Crawl: row, Totals: totals, Path: c.path()}, c.tidy()
}

// withdraw unpublishes an adhoc crawl of the same day that this one replaces,
// before its tables change under its readers.
func (c *Crawl) withdraw() error {
	err := os.Remove(c.path())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return wholefile.SyncDir(filepath.Dir(c.path()))
}

// tidy is what remains to be done of a crawl whose row in crawls is written.
func (c *Crawl) tidy() error {
	if err := WriteViews(c.options.Out); err != nil {
		return err
	}
	return discard(c.options.Out, c.header.Kind)
}

func (c *Crawl) meta(facts Facts) Meta {
	return Meta{Kind: string(c.header.Kind), Crawl: c.Date(), Version: facts.SoftwareVersion, Simulated: c.header.Simulated}
}

// writeTables writes every table but crawls and returns the rows of cards.
func (c *Crawl) writeTables(totals *Totals, facts Facts) (cards int64, err error) {
	out, meta := c.options.Out, c.meta(facts)
	if err := WriteTable(out, meta, counted(stored[Card](c.store), &cards)); err != nil {
		return 0, err
	}
	if err := WriteTable(out, meta, list(totals.SiteRows()...)); err != nil {
		return 0, err
	}
	if err := WriteTable(out, meta, list(totals.FetchRows()...)); err != nil {
		return 0, err
	}
	if c.header.Kind != Weekly {
		return cards, nil
	}
	return cards, WriteTable(out, meta, c.checks(facts))
}

func (c *Crawl) crawlRow(totals *Totals, cards int64, facts Facts) (CrawlRow, error) {
	settings, err := json.Marshal(c.header.Settings)
	if err != nil {
		return CrawlRow{}, fmt.Errorf("writing crawls: %w", err)
	}
	var interruptions int64
	if n := c.store.Counters()[interruptionsKey]; len(n) > 0 {
		interruptions = n[0]
	}
	fetches := totals.Fetches()
	return CrawlRow{
		SchemaVersion:   SchemaVersion,
		ListSource:      c.header.List.Source,
		ListID:          c.header.List.ListID,
		ListSHA256:      c.header.List.SHA256,
		Entries:         c.header.List.Entries,
		Started:         c.header.Started.UnixMicro(),
		Finished:        c.options.Now().UnixMicro(),
		Interruptions:   interruptions,
		UserAgent:       facts.UserAgent,
		KeyID:           facts.KeyID,
		SoftwareVersion: facts.SoftwareVersion,
		Settings:        string(settings),
		Simulated:       c.header.Simulated,
		Sites:           totals.Sites(""),
		Cards:           totals.Sites(outcomeCard),
		Suppressed:      totals.Sites(outcomeCard) - cards,
		OptedOut:        totals.Sites("opted_out"),
		Requests:        fetches.Requests,
		BodyBytes:       fetches.BodyBytes,
	}, nil
}

// published says whether the crawl's own row in crawls is written, and not one
// of a crawl that it is to replace.
func (c *Crawl) published() (bool, error) {
	for row, err := range ReadTable[CrawlRow](c.path()) {
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if row.Started == c.header.Started.UnixMicro() {
			return true, nil
		}
	}
	return false, nil
}

// stored yields the rows of a table that the state holds, in the order of
// their entries, one in memory at a time.
func stored[T Card | Check](store *state.Store) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for kept, err := range store.Rows(TableName[T]()) {
			var row T
			if err == nil {
				row, err = restored[T](kept)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

func restored[T Card | Check](kept state.Stored) (row T, err error) {
	if err := json.Unmarshal(kept.Data, &row); err != nil {
		return row, fmt.Errorf("reading the row of entry %d from the state: %w", kept.Rank, err)
	}
	return row, nil
}

// checks yields the rows of checks: those of the state, less those to be
// omitted, and those of publishers that have none there.
func (c *Crawl) checks(facts Facts) iter.Seq2[Check, error] {
	missing, omit := facts.MissingCheck, facts.OmitCheck
	if missing == nil {
		missing = func(int64) (Check, bool) { return Check{}, false }
	}
	if omit == nil {
		omit = func(Check) bool { return false }
	}
	return func(yield func(Check, error) bool) {
		next := int64(1)
		fill := func(upTo int64) bool {
			for ; next <= upTo; next++ {
				if row, ok := missing(next); ok && !omit(row) && !yield(row, nil) {
					return false
				}
			}
			return true
		}
		for kept, err := range c.store.Rows(TableName[Check]()) {
			var row Check
			if err == nil {
				row, err = restored[Check](kept)
			}
			if err != nil {
				yield(row, err)
				return
			}
			if !fill(kept.Rank-1) || !omit(row) && !yield(row, nil) {
				return
			}
			next = kept.Rank + 1
		}
		fill(c.header.List.Entries)
	}
}

// counted counts rows as they pass.
func counted[T any](rows iter.Seq2[T, error], n *int64) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for row, err := range rows {
			if err == nil {
				*n++
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// list yields rows.
func list[T any](rows ...T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}
