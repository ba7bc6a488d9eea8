package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"
)

// table is the answer to a query. A value is nil, a string, an int64, a
// float64 or a bool; dates and times are strings.
type table struct {
	columns []string
	rows    [][]any
}

// column returns the index of a column, -1 without it.
func (t table) column(name string) int {
	for i, column := range t.columns {
		if column == name {
			return i
		}
	}
	return -1
}

// get returns one value of one row; nil also where the table has none.
func (t table) get(row int, name string) any {
	if i := t.column(name); i >= 0 && row < len(t.rows) {
		return t.rows[row][i]
	}
	return nil
}

// report is all that the page and the summary say, before it has a form.
type report struct {
	dir      string
	crawl    table // the latest crawl's row in crawls
	headline table
	doubts   []string // why the numbers may be incomplete
	parts    []part
}

// part is a chapter with the answers to its exhibits.
type part struct {
	chapter
	answers []table // one an exhibit
}

// simulated says whether the sites were made up.
func (r report) simulated() bool {
	made, _ := r.crawl.get(0, "simulated").(bool)
	return made
}

// report asks everything.
func (c *census) report(ctx context.Context) (report, error) {
	r := report{dir: c.dir}
	var err error
	if r.crawl, err = c.query(ctx, crawlSQL); err != nil {
		return report{}, err
	}
	if r.headline, err = c.query(ctx, headlineSQL); err != nil {
		return report{}, err
	}
	if r.doubts, err = c.doubts(ctx); err != nil {
		return report{}, err
	}
	answers := make(map[string]table) // by SQL: some exhibits share theirs
	for _, chapter := range chapters {
		p := part{chapter: chapter}
		for _, exhibit := range chapter.exhibits {
			answer, asked := answers[exhibit.sql]
			if !asked {
				if answer, err = c.query(ctx, exhibit.sql); err != nil {
					return report{}, fmt.Errorf("%s: %w", exhibit.title, err)
				}
				answers[exhibit.sql] = answer
			}
			p.answers = append(p.answers, answer)
		}
		r.parts = append(r.parts, p)
	}
	return r, nil
}

const crawlSQL = `SELECT kind, crawl, list_source, list_id, entries, started, finished, interruptions, software_version, simulated,
       sites, cards, suppressed, opted_out, requests, body_bytes
FROM crawls WHERE latest`

// doubts compares what has to be equal: a crawl's row in crawls with the sums
// over its tables.
func (c *census) doubts(ctx context.Context) ([]string, error) {
	doubts, err := c.missingFiles()
	if err != nil || len(doubts) > 0 {
		return doubts, err
	}
	unequal, err := c.query(ctx, `SELECT c.kind, c.crawl, c.sites, coalesce(s.sites, 0) AS summed, c.cards - c.suppressed AS expected, coalesce(k.cards, 0) AS rows
FROM crawls c LEFT JOIN (SELECT kind, crawl, sum(sites)::BIGINT AS sites FROM site_totals GROUP BY ALL) s USING (kind, crawl)
LEFT JOIN (SELECT kind, crawl, count(*) AS cards FROM cards GROUP BY ALL) k USING (kind, crawl)
WHERE c.sites <> summed OR expected <> rows ORDER BY c.crawl, c.kind`)
	if err != nil {
		return nil, err
	}
	for _, row := range unequal.rows {
		doubts = append(doubts, fmt.Sprintf("The tables of the %s crawl of %s do not add up: %s of %s sites, %s of %s cards are there.",
			row[0], row[1], count(row[3]), count(row[2]), count(row[5]), count(row[4])))
	}
	return doubts, nil
}

// query runs one SELECT and returns its rows with strangers' text made fit to
// be shown.
func (c *census) query(ctx context.Context, query string) (_ table, err error) {
	rows, err := c.conn.QueryContext(ctx, query)
	if err != nil {
		return table{}, c.explain(ctx, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	t := table{rows: [][]any{}}
	if t.columns, err = rows.Columns(); err != nil {
		return table{}, err
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return table{}, err
	}
	for rows.Next() {
		values, err := scan(rows, len(t.columns))
		if err != nil {
			return table{}, err
		}
		for i := range values {
			values[i] = plain(values[i], types[i].DatabaseTypeName())
		}
		t.rows = append(t.rows, values)
	}
	if err := rows.Err(); err != nil {
		return table{}, c.explain(ctx, err)
	}
	return t, nil
}

func scan(rows *sql.Rows, width int) ([]any, error) {
	values, targets := make([]any, width), make([]any, width)
	for i := range values {
		targets[i] = &values[i]
	}
	return values, rows.Scan(targets...)
}

// plain makes a value of the driver one of a table.
func plain(value any, kind string) any {
	switch v := value.(type) {
	case nil, bool, int64, float64:
		return v
	case int32:
		return int64(v)
	case *big.Int:
		number, _ := new(big.Float).SetInt(v).Float64()
		return number
	case duckdb.Decimal:
		return v.Float64()
	case time.Time:
		if kind == "DATE" {
			return v.Format(time.DateOnly)
		}
		return v.UTC().Format(time.DateTime + "Z")
	case string:
		return shown(v)
	}
	return shown(fmt.Sprint(value))
}

// chart returns the picture of an answer; when there is none it says why.
func (e exhibit) chart(t table) (_ chart, why string) {
	p := e.picture
	first, last := 0, len(t.rows)
	if last < max(p.least, 1) {
		if p.few != "" {
			return chart{}, p.few
		}
		return chart{}, "There is nothing to count."
	}
	if p.most > 0 && last > p.most {
		if p.overTime() {
			first = last - p.most
		} else {
			last = p.most
		}
	}
	c := chart{shape: p.shape, axis: p.axis, format: count0}
	if strings.HasPrefix(p.values[0].column, "share") {
		c.format = percent
	}
	for row := first; row < last; row++ {
		c.labels = append(c.labels, p.label(t, row))
	}
	if p.split != "" {
		c.series = p.splitSeries(t, first, last)
		return c, ""
	}
	for _, v := range p.values {
		s := series{name: v.name, colour: v.colour}
		for row := first; row < last; row++ {
			s.values = append(s.values, number(t.get(row, v.column)))
		}
		c.series = append(c.series, s)
	}
	return c, ""
}

// overTime says that the rows are dates, of which the last are the news.
func (p picture) overTime() bool { return p.labels[0] == "crawl" }

func (p picture) label(t table, row int) string {
	if p.labels[0] == "rank_from" {
		return count(t.get(row, "rank_from")) + "–" + count(t.get(row, "rank_to"))
	}
	var words []string
	for _, column := range p.labels {
		if word := count(t.get(row, column)); word != "" && word != noValue {
			words = append(words, word)
		}
	}
	if p.overTime() {
		return strings.Join(words, " ")
	}
	return strings.Join(words, ": ")
}

// splitSeries makes one series of each word in the split column, in the order
// of their first rows.
func (p picture) splitSeries(t table, first, last int) []series {
	var all []series
	place := make(map[string]int)
	for row := first; row < last; row++ {
		name, _ := t.get(row, p.split).(string)
		i, known := place[name]
		if !known {
			i = len(all)
			place[name] = i
			all = append(all, series{name: name, colour: colourOf(name, i)})
			for range last - first {
				all[i].values = append(all[i].values, math.NaN())
			}
		}
		all[i].values[row-first] = number(t.get(row, p.values[0].column))
	}
	return all
}

// colourOf gives words the colours that they have in other pictures.
func colourOf(word string, otherwise int) int {
	switch word {
	case "published":
		return blue
	case "kept out":
		return orange
	case "answered":
		return teal
	case "ours":
		return purple
	case "no answer":
		return grey
	}
	return otherwise
}
