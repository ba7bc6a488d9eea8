package sink

import (
	"fmt"
	"time"
)

// Kind is a kind of crawl.
type Kind string

// The kinds of crawls. A monthly crawl belongs to the UTC calendar month, a
// weekly one to the ISO week of its start: one complete crawl a period is
// enough. Adhoc crawls have no period.
const (
	Monthly Kind = "monthly"
	Weekly  Kind = "weekly"
	Adhoc   Kind = "adhoc"
)

// Kinds are all kinds of crawls.
var Kinds = []Kind{Monthly, Weekly, Adhoc}

func (k Kind) known() bool { return k == Monthly || k == Weekly || k == Adhoc }

// Period names the period that t lies in, such as 2026-12 or 2026-W49; it is
// empty for adhoc.
func (k Kind) Period(t time.Time) string {
	t = t.UTC()
	switch k {
	case Monthly:
		return t.Format("2006-01")
	case Weekly:
		// The year of the ISO week, which in the days around New Year is not
		// the calendar's.
		year, week := t.ISOWeek()
		return fmt.Sprintf("%04d-W%02d", year, week)
	}
	return ""
}

// Complete returns a *CompleteError when the crawl of kind for the period of
// now is published under out, and nil when it is not: then there is something
// to begin, unless there is a crawl to go on with ([Lock.Unfinished]). An adhoc crawl has no period.
func Complete(out string, kind Kind, now time.Time) error {
	files, err := Files(out, TableName[CrawlRow]())
	if err != nil {
		return err
	}
	for _, file := range files {
		date, err := time.Parse(time.DateOnly, file.Crawl)
		if err != nil || file.Kind != string(kind) || kind == Adhoc {
			continue // a directory that no crawl made, or another kind's
		}
		if period := kind.Period(date); period == kind.Period(now) {
			return &CompleteError{Kind: kind, Period: period, Date: file.Crawl, Path: file.Path}
		}
	}
	return nil
}
