package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"time"

	"agentcensus/sink"
)

// pastCrawl is a complete crawl.
type pastCrawl struct {
	sink.File // of its row
	row       sink.CrawlRow
}

// pastCrawls are complete crawls in the order of their starts.
type pastCrawls []pastCrawl

// completeCrawls reads which crawls under out are complete.
func completeCrawls(out string) (pastCrawls, error) {
	files, err := sink.Files(out, sink.TableName[sink.CrawlRow]())
	if err != nil {
		return nil, err
	}
	var past pastCrawls
	for _, f := range files {
		for row, err := range sink.ReadTable[sink.CrawlRow](f.Path) {
			if err != nil {
				return nil, err
			}
			past = append(past, pastCrawl{f, row})
		}
	}
	slices.SortStableFunc(past, func(a, b pastCrawl) int { return cmp.Compare(a.row.Started, b.row.Started) })
	return past, nil
}

// latest is the last crawl of a kind, nil when there is none.
func (p pastCrawls) latest(kind sink.Kind) *pastCrawl {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i].Kind == string(kind) {
			return &p[i]
		}
	}
	return nil
}

// find is the crawl of a kind and date, nil when there is none.
func (p pastCrawls) find(kind sink.Kind, date string) *pastCrawl {
	for i := range p {
		if p[i].Kind == string(kind) && p[i].Crawl == date {
			return &p[i]
		}
	}
	return nil
}

// cardsOf yields the cards of a crawl, few in memory at a time.
func cardsOf(out string, c *pastCrawl) iter.Seq2[sink.Card, error] {
	return sink.ReadTable[sink.Card](sink.TablePath(out, sink.TableName[sink.Card](), c.Kind, c.Crawl))
}

// history is how earlier crawls found publishers, by site.
type history map[string]state

// state is the last time that answers told whether a publisher has a card, and
// which.
type state struct {
	crawl *pastCrawl
	card  *facts // nil: answers brought none
}

// readHistory reads how the publishers were found from the monthly crawl that
// they are of up to the last crawl, monthly or weekly, that was complete when
// this one began. Where a crawl could not tell whether a publisher had a card,
// the one before it speaks.
func readHistory(out string, past pastCrawls, monthly *pastCrawl, begun time.Time, ps publishers) (history, error) {
	if monthly == nil {
		return nil, nil
	}
	listed := make(map[string]bool, len(ps))
	for _, p := range ps {
		listed[p.site] = true
	}
	h := make(history, len(ps))
	for i := range past {
		c := &past[i]
		if c.row.Started < monthly.row.Started || c.row.Finished > begun.UnixMicro() ||
			c.Kind != string(sink.Weekly) && c.Kind != string(sink.Monthly) {
			continue
		}
		if err := h.add(out, c, listed); err != nil {
			return nil, fmt.Errorf("read what the %s crawl of %s found: %w", c.Kind, c.Crawl, err)
		}
	}
	return h, nil
}

// add puts what a later crawl found in the place of what was found before.
func (h history) add(out string, c *pastCrawl, listed map[string]bool) error {
	for card, err := range cardsOf(out, c) {
		if err != nil {
			return err
		}
		if listed[card.Site] {
			h[card.Site] = state{c, factsOfCard(&card)}
		}
	}
	if c.Kind != string(sink.Weekly) {
		return nil // who is in no row of cards: nobody knows why
	}
	checks := sink.ReadTable[sink.Check](sink.TablePath(out, sink.TableName[sink.Check](), c.Kind, c.Crawl))
	for row, err := range checks {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case listed[row.Site] && row.CardGone != nil && !holdsCard(row):
			h[row.Site] = state{crawl: c}
		}
	}
	return nil
}

// facts are what of a card can be compared with a later one: a hundredth of
// the card.
type facts struct {
	bodySHA256, canonSHA256 string
	agentVersion            *string
	a2aVersion              string
	skills                  []string // IDs, the name where one has no ID
	signed                  bool
}

func factsOfCard(c *sink.Card) *facts {
	f := &facts{bodySHA256: c.BodySHA256, canonSHA256: c.CanonSHA256, agentVersion: c.AgentVersion, a2aVersion: c.A2AVersion, signed: c.Signed}
	for _, s := range c.Skills {
		if name := cmp.Or(s.ID, s.Name); name != nil {
			f.skills = append(f.skills, *name)
		}
	}
	return f
}

// card is a row of cards with these facts and no others.
func (f *facts) card() *sink.Card {
	if f == nil {
		return nil
	}
	c := &sink.Card{BodySHA256: f.bodySHA256, CanonSHA256: f.canonSHA256, AgentVersion: f.agentVersion, A2AVersion: f.a2aVersion, Signed: f.signed}
	for i := range f.skills {
		c.Skills = append(c.Skills, sink.Skill{ID: &f.skills[i]})
	}
	return c
}
