package sink

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"github.com/parquet-go/parquet-go"
)

// SchemaVersion is the layout of the tables that this package writes. It grows
// with every column added; columns are only ever added, always nullable or
// with a meaning for files that lack them.
const SchemaVersion = 1

// Row is a row of one of the tables.
type Row interface {
	Card | SiteTotal | FetchTotal | Check | CrawlRow
}

// layout says how the rows of one table lie in a file.
type layout struct {
	name string
	doc  string
	sort []parquet.SortingColumn // the order of the rows, which compare[T] checks
}

// layouts are the tables in the order in which a reader meets them.
var layouts = []layout{
	{name: "crawls", doc: "one row a crawl, written last"},
	{name: "cards", doc: "one row a publisher and crawl",
		sort: []parquet.SortingColumn{parquet.Ascending("rank")}},
	{name: "site_totals", doc: "what became of the list entries, by rank range",
		sort: []parquet.SortingColumn{parquet.Ascending("rank_from"), parquet.Ascending("outcome"), parquet.Ascending("reason")}},
	{name: "fetch_totals", doc: "what became of the fetches, by rank range and path",
		sort: []parquet.SortingColumn{parquet.Ascending("rank_from"), parquet.Ascending("path"), parquet.Ascending("outcome"),
			parquet.Ascending("reason"), parquet.NullsFirst(parquet.Ascending("http_status"))}},
	{name: "checks", doc: "one row a publisher and weekly crawl",
		sort: []parquet.SortingColumn{parquet.Ascending("rank")}},
}

// TableName returns the name of the table whose rows are T.
func TableName[T Row]() string {
	var row T
	switch any(row).(type) {
	case Card:
		return "cards"
	case SiteTotal:
		return "site_totals"
	case FetchTotal:
		return "fetch_totals"
	case Check:
		return "checks"
	}
	return "crawls"
}

func layoutOf(table string) layout {
	for _, l := range layouts {
		if l.name == table {
			return l
		}
	}
	return layout{name: table}
}

// compare orders two rows as the table is sorted.
func compare[T Row](a, b T) int {
	switch x := any(a).(type) {
	case Card:
		return cmp.Compare(x.Rank, any(b).(Card).Rank)
	case Check:
		return cmp.Compare(x.Rank, any(b).(Check).Rank)
	case SiteTotal:
		return compareSiteTotals(x, any(b).(SiteTotal))
	case FetchTotal:
		return compareFetchTotals(x, any(b).(FetchTotal))
	}
	return 0
}

// weight estimates the bytes that a row takes in the writer's buffers.
func weight[T Row](row T) int {
	const narrow = 256
	card, ok := any(row).(Card)
	if !ok || card.CardJSON == nil {
		return narrow
	}
	// The facts repeat the body's texts at most about once more; a value in a
	// list takes its place however short it is.
	return 1024 + 2*len(*card.CardJSON) + 32*card.listed()
}

// Meta names the crawl that a file belongs to.
type Meta struct {
	Kind    string // monthly, weekly, or adhoc
	Crawl   string // start date of the crawl in UTC, YYYY-MM-DD
	Version string // version of the crawler, for the file's metadata; may be empty
	// Simulated marks files about made-up sites.
	Simulated bool
}

var kindPattern = regexp.MustCompile(`^[a-z]+$`)

func (m Meta) check() error {
	if !kindPattern.MatchString(m.Kind) {
		return fmt.Errorf("kind %q is not a lower-case word", m.Kind)
	}
	if _, err := time.Parse(time.DateOnly, m.Crawl); err != nil {
		return fmt.Errorf("crawl %q is not a date: %w", m.Crawl, err)
	}
	return nil
}

// TablePath returns the path of the file of one table and crawl under dir.
func TablePath(dir, table, kind, crawl string) string {
	return filepath.Join(dir, "data", table, "kind="+kind, "crawl="+crawl, table+".parquet")
}
