package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	"agentcensus/cmd/internal/built"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// page is what the template shows.
type page struct {
	Simulated           bool
	Kind, Crawl         string
	Doubts              []string
	Tiles               []tile
	HeadlineSQL         string
	Chapters            []pageChapter
	Facts               []pageCell
	Suppressed, Dash    string
	Program, ScriptHash string
	Style               template.CSS
	Script              template.JS
}

// tile is one headline number. Raw is the number itself.
type tile struct{ Label, Value, Raw, Of string }

type pageChapter struct {
	ID, Title string
	Exhibits  []pageExhibit
}

type pageExhibit struct {
	ID, Title, Note, SQL string
	// The picture in both widths with its description for those who do not
	// see it and what was Left out of it; or Why there is none.
	Wide, Narrow           template.HTML
	Legend                 []legendKey // of more than one series
	Description, Left, Why string
	Columns                []pageCell
	Rows                   [][]pageCell
}

type legendKey struct {
	Name   string
	Colour int
}

// pageCell is a cell of a table. Raw, if set, is the number behind a rounded
// Text.
type pageCell struct {
	Heading, Text, Raw string
	Number             bool
}

// Long says whether the text may be broken into lines.
func (c pageCell) Long() bool { return len(c.Text) > 36 }

// writePage writes the report as one self-contained HTML page.
func writePage(w io.Writer, r report) error {
	parsed, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return fmt.Errorf("reading the page's template: %w", err)
	}
	digest := sha256.Sum256([]byte(pageJS))
	p := page{
		Simulated: r.simulated(), Kind: count(r.crawl.get(0, "kind")), Crawl: count(r.crawl.get(0, "crawl")), Doubts: r.doubts,
		Tiles: tiles(r), HeadlineSQL: headlineSQL, Suppressed: suppressed(r), Dash: noValue,
		Program: "agentcensus-report " + built.Version(), Style: template.CSS(pageCSS), Script: template.JS(pageJS),
		ScriptHash: "sha256-" + base64.StdEncoding.EncodeToString(digest[:]),
	}
	for i, column := range r.crawl.columns {
		p.Facts = append(p.Facts, pageCell{Heading: heading(column), Text: cell(column, r.crawl.rows[0][i])})
	}
	for _, part := range r.parts {
		chapter := pageChapter{ID: part.id, Title: part.title}
		for i, e := range part.exhibits {
			shown, err := pageExhibitOf(e, part.answers[i])
			if err != nil {
				return fmt.Errorf("%s: %w", e.title, err)
			}
			chapter.Exhibits = append(chapter.Exhibits, shown)
		}
		p.Chapters = append(p.Chapters, chapter)
	}
	if err := parsed.Execute(w, p); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

func pageExhibitOf(e exhibit, t table) (pageExhibit, error) {
	shown := pageExhibit{ID: e.id, Title: e.title, Note: e.note, SQL: e.sql}
	for i, column := range t.columns {
		numbers := false
		for _, row := range t.rows {
			numbers = numbers || isNumber(row[i])
		}
		shown.Columns = append(shown.Columns, pageCell{Heading: heading(column), Number: numbers})
	}
	for _, row := range t.rows {
		cells := make([]pageCell, len(row))
		for i, value := range row {
			cells[i] = pageCell{Text: cell(t.columns[i], value), Number: shown.Columns[i].Number}
			if v, ok := value.(float64); ok {
				cells[i].Raw = strconv.FormatFloat(v, 'g', -1, 64)
			}
		}
		shown.Rows = append(shown.Rows, cells)
	}
	c, why := e.chart(t)
	if why != "" {
		shown.Why = why
		return shown, nil
	}
	wide, err := c.draw(wideChart)
	if err != nil {
		return pageExhibit{}, err
	}
	narrow, err := c.draw(narrowChart)
	if err != nil {
		return pageExhibit{}, err
	}
	// The library escapes text; everything else in its output is numbers.
	shown.Wide, shown.Narrow = template.HTML(wide), template.HTML(narrow)
	shown.Description = describe(e, c)
	for _, s := range c.series {
		if len(c.series) > 1 || e.picture.split != "" {
			shown.Legend = append(shown.Legend, legendKey{s.name, s.colour})
		}
	}
	if drawn := len(c.labels); drawn < len(t.rows) {
		which := "first"
		if e.picture.overTime() {
			which = "last"
		}
		shown.Left = fmt.Sprintf("The picture shows the %s %d of %d rows; the table has them all.", which, drawn, len(t.rows))
	}
	return shown, nil
}

func isNumber(value any) bool {
	switch value.(type) {
	case int64, float64:
		return true
	}
	return false
}

// describe says in words what a chart shows: its kind, its axis, and its values
// as far as a listener has patience. The table below it has the rest.
func describe(e exhibit, c chart) string {
	const patience = 8
	kind := "Bar chart"
	if c.shape == lines {
		kind = "Line chart"
	}
	var words strings.Builder
	fmt.Fprintf(&words, "%s: %s. Axis: %s.", kind, e.title, c.axis)
	for i, label := range c.labels {
		if i == patience {
			fmt.Fprintf(&words, " And %d more in the table.", len(c.labels)-patience)
			break
		}
		var values []string
		for _, s := range c.series {
			if value := s.values[i]; value == value { // not NaN
				text := c.format(value)
				if len(c.series) > 1 {
					text = s.name + " " + text
				}
				values = append(values, text)
			}
		}
		fmt.Fprintf(&words, " %s: %s.", label, strings.Join(values, ", "))
	}
	return words.String()
}

// suppressed says how many publishers are counted and not described.
func suppressed(r report) string {
	n, _ := r.crawl.get(0, "suppressed").(int64)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s of the cards are counted in totals but not described, because their publishers asked to be left out.", count(n))
}
