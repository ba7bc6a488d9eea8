package sink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agentcensus/sink/state"
)

// The outcomes that this package has to know.
const (
	outcomeCard        = "card"
	outcomeInterrupted = "interrupted"

	// reasonOwnOutage is why sites count as interrupted when the network here
	// was gone.
	reasonOwnOutage = "own_outage"
)

// interruptionsKey counts how often the crawl went on.
const interruptionsKey = "interruptions"

// Record is what a crawl keeps of one list entry: of a site without a card
// nothing but what is added up.
type Record struct {
	Entry           int64 // its number in the list, from 1
	Outcome, Reason string
	Fetches         []FetchRecord
	// Card is the row of a publisher; there is one when Outcome is card,
	// unless Suppressed.
	Card *Card
	// Check is the publisher's row of a weekly crawl.
	Check *Check
	// Answered says that an answer by HTTP decided.
	Answered bool
	// At is when that answer was received, or when it was known that there is
	// none. The zero time is now.
	At time.Time
	// Neutral says that the record tells nothing of the network: the site was
	// not asked.
	Neutral bool
	// Suppressed publishers are counted, and no row is kept.
	Suppressed bool
}

// FetchRecord is one fetch of a site: a path and its redirects.
type FetchRecord = Fetch

// ErrOutage says that so many sites in a row gave no HTTP answer that the fault
// is taken to be here. They count as interrupted, and the crawl has to stop.
var ErrOutage = errors.New("too many sites in a row without one answer: the network here seems to be gone")

// Settle takes the end of a site. A site that answered, or was not asked, is
// on the disk within a second. One that gave no answer is held back until a
// later one answers, or under Options.Vouched until [Crawl.Vouch]: until then
// nobody knows whose fault it was. Later is by Record.At, since sites do not
// come here in the order of their ends. When Options.OutageAfter are held back they
// all end as interrupted, and Settle returns ErrOutage from then on.
func (c *Crawl) Settle(ctx context.Context, r Record) error {
	if keeps := r.Card != nil; keeps != (r.Outcome == outcomeCard && !r.Suppressed) {
		return fmt.Errorf("settling entry %d: outcome %s, card row: %t, suppressed: %t", r.Entry, r.Outcome, keeps, r.Suppressed)
	}
	if r.At.IsZero() {
		r.At = time.Now()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.outage:
		return ErrOutage
	case r.Neutral:
		return c.end(ctx, r)
	case r.Answered && c.options.Vouched:
		return c.end(ctx, r)
	case r.Answered:
		if err := c.releaseBefore(ctx, r.At); err != nil {
			return err
		}
		return c.end(ctx, r)
	}
	c.held = append(c.held, r)
	if len(c.held) < c.options.OutageAfter {
		return nil
	}
	if err := c.giveUp(ctx); err != nil {
		return err
	}
	return ErrOutage
}

// Held is how many sites are held back.
func (c *Crawl) Held() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.held)
}

// Vouch ends the sites held back as they are: something else than a site says
// that the network here is there.
func (c *Crawl) Vouch(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outage {
		return ErrOutage
	}
	return c.release(ctx)
}

// Outage says that the network here is gone: the sites held back end as
// interrupted, durably, and Settle returns ErrOutage from then on.
func (c *Crawl) Outage(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.giveUp(ctx)
}

// giveUp is Outage for who holds mu.
func (c *Crawl) giveUp(ctx context.Context) error {
	c.outage = true
	for i, held := range c.held {
		c.held[i] = interrupted(held)
	}
	return errors.Join(c.release(ctx), c.store.Flush(ctx))
}

// interrupted is a record whose failure was the crawler's own. Its requests
// were sent and stay counted; what became of them says nothing.
func interrupted(r Record) Record {
	r.Outcome, r.Reason, r.Check = outcomeInterrupted, reasonOwnOutage, nil
	fetches := make([]FetchRecord, len(r.Fetches))
	for i, f := range r.Fetches {
		f.Outcome, f.Reason, f.HTTPStatus = outcomeInterrupted, reasonOwnOutage, 0
		fetches[i] = f
	}
	r.Fetches = fetches
	return r
}

// release ends the records held back as they are. The caller holds mu.
func (c *Crawl) release(ctx context.Context) error {
	return c.releaseIf(ctx, func(Record) bool { return true })
}

// releaseBefore is release of those that had failed when an answer came.
func (c *Crawl) releaseBefore(ctx context.Context, answer time.Time) error {
	return c.releaseIf(ctx, func(held Record) bool { return !held.At.After(answer) })
}

func (c *Crawl) releaseIf(ctx context.Context, vouched func(Record) bool) error {
	var still []Record
	for i, r := range c.held {
		if !vouched(r) {
			still = append(still, r)
			continue
		}
		if err := c.end(ctx, r); err != nil {
			c.held = append(still, c.held[i:]...)
			return err
		}
	}
	c.held = still
	return nil
}

// end adds a record up and puts its rows into the state.
func (c *Crawl) end(ctx context.Context, r Record) error {
	rank := c.Rank(r.Entry)
	ending := state.Record{Rank: r.Entry, Counters: []state.Counter{
		{Key: NewSiteKey(rank, r.Outcome, r.Reason).Key(), Add: []int64{1}},
	}}
	for _, f := range r.Fetches {
		ending.Counters = append(ending.Counters, state.Counter{Key: NewFetchKey(rank, f).Key(), Add: f.Count().Values()})
	}
	if !r.Suppressed {
		var err error
		if ending.Rows, err = r.rows(); err != nil {
			return err
		}
	}
	if err := c.store.End(ctx, ending); err != nil {
		return fmt.Errorf("settling entry %d: %w", r.Entry, err)
	}
	return nil
}

// rows are the record's rows as the state keeps them: JSON, which tells a
// NULL from false and from an empty text or list.
func (r Record) rows() ([]state.Row, error) {
	var rows []state.Row
	add := func(table string, row any) error {
		var data bytes.Buffer
		enc := json.NewEncoder(&data)
		enc.SetEscapeHTML(false) // "<" would take six bytes
		if err := enc.Encode(row); err != nil {
			return fmt.Errorf("settling entry %d: %w", r.Entry, err)
		}
		rows = append(rows, state.Row{Table: table, Data: data.Bytes()})
		return nil
	}
	if r.Card != nil {
		if err := add(TableName[Card](), r.Card); err != nil {
			return nil, err
		}
	}
	if r.Check != nil {
		if err := add(TableName[Check](), r.Check); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// Totals are the totals of the sites that have ended so far.
func (c *Crawl) Totals() (*Totals, error) {
	totals := new(Totals)
	for key, numbers := range c.store.Counters() {
		if key == interruptionsKey {
			continue
		}
		if err := totals.Add(key, numbers); err != nil {
			return nil, fmt.Errorf("reading the state's totals: %w", err)
		}
	}
	return totals, nil
}
