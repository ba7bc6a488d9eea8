package simweb

import "maps"

// Truth adds up fates into the totals that an honest crawl must report.
type Truth struct {
	sites   map[SiteKey]int64
	fetches map[FetchKey]FetchSum
	cards   map[int64]CardFacts
	entries int64
}

// SiteKey names one row of the site totals.
type SiteKey struct {
	From, To        int64 // the rank range, both ends included
	Outcome, Reason string
}

// FetchKey names one row of the fetch totals.
type FetchKey struct {
	From, To        int64
	Path            string
	Outcome, Reason string
	Status          int
}

// FetchSum is what one row of the fetch totals adds up.
type FetchSum struct {
	Fetches, Requests int64
	BodyBytes         int64 // Unsure when that of any fetch is
}

// NewTruth has no entries yet.
func NewTruth() *Truth {
	return &Truth{sites: map[SiteKey]int64{}, fetches: map[FetchKey]FetchSum{}, cards: map[int64]CardFacts{}}
}

// Add counts the fate of the entry at rank.
func (t *Truth) Add(rank int64, f Fate) {
	from, to := rankRange(rank)
	t.entries++
	t.sites[SiteKey{from, to, f.Outcome, f.Reason}]++
	for _, r := range f.Fetches {
		k := FetchKey{from, to, r.Path, r.Outcome, r.Reason, r.Status}
		sum := t.fetches[k]
		sum.Fetches++
		sum.Requests += int64(r.Requests)
		if r.BodyBytes == Unsure || sum.BodyBytes == Unsure {
			sum.BodyBytes = Unsure
		} else {
			sum.BodyBytes += r.BodyBytes
		}
		t.fetches[k] = sum
	}
	if f.Card != nil {
		t.cards[rank] = *f.Card
	}
}

// Entries is how many fates were added.
func (t *Truth) Entries() int64 { return t.entries }

// Sites are the site totals.
func (t *Truth) Sites() map[SiteKey]int64 { return maps.Clone(t.sites) }

// Fetches are the fetch totals.
func (t *Truth) Fetches() map[FetchKey]FetchSum { return maps.Clone(t.fetches) }

// Cards are the facts of all cards by rank.
func (t *Truth) Cards() map[int64]CardFacts { return maps.Clone(t.cards) }

// rankRange gives the range of a rank: the ranges end at 100, 500, 1,000,
// 5,000, 10,000 and on by the same steps.
func rankRange(rank int64) (from, to int64) {
	from, to = 1, 100
	for five := true; rank > to; five = !five {
		from = to + 1
		if five {
			to *= 5
		} else {
			to *= 2
		}
	}
	return from, to
}
