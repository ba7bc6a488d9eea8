package sink

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrCounter is wrapped by the errors of [Totals.Add] and [ParseKey].
var ErrCounter = errors.New("not a counter of this version")

// SiteKey names one row of site_totals within a crawl.
type SiteKey struct {
	RankFrom        int64
	Outcome, Reason string
}

// FetchKey names one row of fetch_totals within a crawl. HTTPStatus 0 means
// that there was no HTTP answer.
type FetchKey struct {
	RankFrom              int64
	Path, Outcome, Reason string
	HTTPStatus            int32
}

// FetchCount is what fetches with one [FetchKey] add up to.
type FetchCount struct {
	Fetches, Requests, BodyBytes int64
	Elapsed                      time.Duration
}

// Fetch is one fetch to be counted: a path and its redirects.
type Fetch struct {
	Path, Outcome, Reason string
	HTTPStatus            int // 0 without an HTTP answer
	Requests, BodyBytes   int64
	Elapsed               time.Duration
}

// NewSiteKey returns the key under which a site of this rank is counted.
func NewSiteKey(rank int64, outcome, reason string) SiteKey {
	from, _ := RankRange(rank)
	return SiteKey{RankFrom: from, Outcome: outcome, Reason: reason}
}

// NewFetchKey returns the key under which a fetch for a site of this rank is
// counted.
func NewFetchKey(rank int64, f Fetch) FetchKey {
	from, _ := RankRange(rank)
	return FetchKey{RankFrom: from, Path: f.Path, Outcome: f.Outcome, Reason: f.Reason, HTTPStatus: int32(f.HTTPStatus)}
}

// Count returns the counts of this one fetch.
func (f Fetch) Count() FetchCount {
	return FetchCount{Fetches: 1, Requests: f.Requests, BodyBytes: f.BodyBytes, Elapsed: f.Elapsed}
}

// Values returns the counts as plain counters; elapsed time in microseconds, so
// that sums of short fetches do not lose their fractions.
func (c FetchCount) Values() []int64 {
	return []int64{c.Fetches, c.Requests, c.BodyBytes, c.Elapsed.Microseconds()}
}

// Key returns the key as text: "site" and the fields, each path-escaped, joined
// by "/". Different keys have different texts.
func (k SiteKey) Key() string {
	return strings.Join([]string{"site", strconv.FormatInt(k.RankFrom, 10),
		url.PathEscape(k.Outcome), url.PathEscape(k.Reason)}, "/")
}

// Key returns the key as text: "fetch" and the fields, each path-escaped,
// joined by "/". Different keys have different texts.
func (k FetchKey) Key() string {
	return strings.Join([]string{"fetch", strconv.FormatInt(k.RankFrom, 10), url.PathEscape(k.Path),
		url.PathEscape(k.Outcome), url.PathEscape(k.Reason), strconv.Itoa(int(k.HTTPStatus))}, "/")
}

// ParseKey reads what [SiteKey.Key] or [FetchKey.Key] wrote and returns a
// SiteKey or a FetchKey. Anything else is an error that wraps [ErrCounter].
func ParseKey(text string) (any, error) {
	parts := strings.Split(text, "/")
	sort, parts := parts[0], parts[1:]
	if sort == "site" && len(parts) == 3 || sort == "fetch" && len(parts) == 5 {
		return parseKey(sort, parts)
	}
	return nil, fmt.Errorf("reading the key %q: %w", text, ErrCounter)
}

func parseKey(sort string, parts []string) (any, error) {
	from, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("reading the rank %q: %w: %w", parts[0], ErrCounter, err)
	}
	words := slices.Clone(parts[1:])
	for i, word := range words {
		if words[i], err = url.PathUnescape(word); err != nil {
			return nil, fmt.Errorf("reading %q: %w: %w", word, ErrCounter, err)
		}
	}
	if sort == "site" {
		return SiteKey{RankFrom: from, Outcome: words[0], Reason: words[1]}, nil
	}
	status, err := strconv.ParseInt(words[3], 10, 32)
	if err != nil {
		return nil, fmt.Errorf("reading the status %q: %w: %w", words[3], ErrCounter, err)
	}
	return FetchKey{RankFrom: from, Path: words[0], Outcome: words[1], Reason: words[2], HTTPStatus: int32(status)}, nil
}

// Totals adds up sites and fetches by rank range. The zero value is empty and
// ready for use. It is not for concurrent use.
type Totals struct {
	sites   map[SiteKey]int64
	fetches map[FetchKey]FetchCount
}

// AddSite counts one list entry.
func (t *Totals) AddSite(rank int64, outcome, reason string) {
	t.addSites(NewSiteKey(rank, outcome, reason), 1)
}

// AddFetch counts one fetch made for the list entry of this rank.
func (t *Totals) AddFetch(rank int64, f Fetch) {
	t.addFetches(NewFetchKey(rank, f), f.Count())
}

func (t *Totals) addSites(key SiteKey, n int64) {
	if t.sites == nil {
		t.sites = make(map[SiteKey]int64)
	}
	t.sites[key] += n
}

func (t *Totals) addFetches(key FetchKey, n FetchCount) {
	if t.fetches == nil {
		t.fetches = make(map[FetchKey]FetchCount)
	}
	sum := t.fetches[key]
	sum.Fetches += n.Fetches
	sum.Requests += n.Requests
	sum.BodyBytes += n.BodyBytes
	sum.Elapsed += n.Elapsed
	t.fetches[key] = sum
}

// Add adds one counter in the form that [Totals.Counters] yields. A counter of
// another form is an error that wraps [ErrCounter].
func (t *Totals) Add(key string, values []int64) error {
	parsed, err := ParseKey(key)
	if err != nil {
		return err
	}
	switch k := parsed.(type) {
	case SiteKey:
		if len(values) != 1 {
			return fmt.Errorf("adding %q with %d values: %w", key, len(values), ErrCounter)
		}
		t.addSites(k, values[0])
	case FetchKey:
		if len(values) != 4 {
			return fmt.Errorf("adding %q with %d values: %w", key, len(values), ErrCounter)
		}
		t.addFetches(k, FetchCount{Fetches: values[0], Requests: values[1], BodyBytes: values[2],
			Elapsed: time.Duration(values[3]) * time.Microsecond})
	}
	return nil
}

// Counters yields all counts as text keys and plain counters, in no order.
func (t *Totals) Counters() iter.Seq2[string, []int64] {
	return func(yield func(string, []int64) bool) {
		for key, n := range t.sites {
			if !yield(key.Key(), []int64{n}) {
				return
			}
		}
		for key, n := range t.fetches {
			if !yield(key.Key(), n.Values()) {
				return
			}
		}
	}
}

// Sites returns the number of list entries counted with this outcome; with ""
// the number of all.
func (t *Totals) Sites(outcome string) int64 {
	var sum int64
	for key, n := range t.sites {
		if outcome == "" || key.Outcome == outcome {
			sum += n
		}
	}
	return sum
}

// Fetches returns the sum over all fetches counted.
func (t *Totals) Fetches() FetchCount {
	var sum FetchCount
	for _, n := range t.fetches {
		sum.Fetches += n.Fetches
		sum.Requests += n.Requests
		sum.BodyBytes += n.BodyBytes
		sum.Elapsed += n.Elapsed
	}
	return sum
}

// SiteRows returns the rows of site_totals in the table's order.
func (t *Totals) SiteRows() []SiteTotal {
	rows := make([]SiteTotal, 0, len(t.sites))
	for key, n := range t.sites {
		_, to := RankRange(key.RankFrom)
		rows = append(rows, SiteTotal{RankFrom: key.RankFrom, RankTo: to, Outcome: key.Outcome, Reason: key.Reason, Sites: n})
	}
	slices.SortFunc(rows, compareSiteTotals)
	return rows
}

// FetchRows returns the rows of fetch_totals in the table's order.
func (t *Totals) FetchRows() []FetchTotal {
	rows := make([]FetchTotal, 0, len(t.fetches))
	for key, n := range t.fetches {
		_, to := RankRange(key.RankFrom)
		row := FetchTotal{RankFrom: key.RankFrom, RankTo: to, Path: key.Path, Outcome: key.Outcome, Reason: key.Reason,
			Fetches: n.Fetches, Requests: n.Requests, BodyBytes: n.BodyBytes, ElapsedMS: n.Elapsed.Milliseconds()}
		if key.HTTPStatus != 0 {
			row.HTTPStatus = &key.HTTPStatus
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, compareFetchTotals)
	return rows
}

func compareSiteTotals(a, b SiteTotal) int {
	return cmp.Or(cmp.Compare(a.RankFrom, b.RankFrom), strings.Compare(a.Outcome, b.Outcome), strings.Compare(a.Reason, b.Reason))
}

func compareFetchTotals(a, b FetchTotal) int {
	return cmp.Or(cmp.Compare(a.RankFrom, b.RankFrom), strings.Compare(a.Path, b.Path),
		strings.Compare(a.Outcome, b.Outcome), strings.Compare(a.Reason, b.Reason), compareNullable(a.HTTPStatus, b.HTTPStatus))
}

// compareNullable orders NULL before every number.
func compareNullable(a, b *int32) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return cmp.Compare(*a, *b)
}
