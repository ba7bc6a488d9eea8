package main

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-analyze/charts"
)

// shape is how a chart draws its values.
type shape string

const (
	bars    shape = "bars"    // horizontal, a group of bars a label
	stacked shape = "stacked" // horizontal, one bar a label, in parts
	columns shape = "columns" // vertical, one column a label, in parts: for time
	lines   shape = "lines"   // one line a series: for time
)

// A chart is the picture of one exhibit, before it has a size.
type chart struct {
	shape  shape
	labels []string
	series []series
	axis   string // title of the value axis
	format func(float64) string
}

// series are the values of one name, one a label. NaN stands for no value.
type series struct {
	name   string
	colour int // of the palette, from 0
	values []float64
}

// The widths in pixels that a chart is drawn in: the page shows the one that
// fits the window, so that the text of both has the size of text.
const (
	wideChart   = 800
	narrowChart = 300
)

// draw returns the chart as an SVG element of the given width. Its colours are
// CSS variables of the page, which know about light and dark. It has no legend
// and no words for those who do not see it: the page has both beside it.
func (c chart) draw(width int) (string, error) {
	painter := charts.NewPainter(charts.PainterOptions{
		OutputFormat: charts.ChartOutputSVG, Width: width, Height: c.height(), Theme: c.theme(),
	})
	var err error
	if c.shape == lines {
		err = painter.LineChart(c.lineOptions(width))
	} else {
		err = painter.BarChart(c.barOptions(width))
	}
	if err != nil {
		return "", fmt.Errorf("drawing a chart: %w", err)
	}
	svg, err := painter.Bytes()
	if err != nil {
		return "", fmt.Errorf("drawing a chart: %w", err)
	}
	return c.dress(painter, string(svg), width), nil
}

// height grows with what has to be told apart, so that text never overlaps.
func (c chart) height() int {
	const frame = 58 // value axis and its title
	switch c.shape {
	case bars:
		return frame + len(c.labels)*(14+13*len(c.series))
	case stacked:
		return frame + len(c.labels)*27
	}
	return 280
}

func (c chart) barOptions(width int) charts.BarChartOption {
	option := charts.NewBarChartOptionWithData(c.values())
	option.Theme = c.theme()
	option.Horizontal = c.shape != columns
	option.StackSeries = charts.Ptr(c.shape != bars)
	option.Padding = charts.NewBox(4, 4, 24, 4)
	option.ValueFormatter = c.brief
	option.Legend = charts.LegendOption{Show: charts.Ptr(false)}
	option.CategoryAxis = charts.CategoryAxisOption{Labels: c.shortLabels(width), LabelFontStyle: text(), LabelCount: len(c.labels)}
	option.ValueAxis = []charts.ValueAxisOption{c.valueAxis(width)}
	if c.shape == columns {
		option.CategoryAxis.LabelCount = c.timeLabels(width)
		option.BarSize = min(0.7, 0.12*float64(len(c.labels)))
	}
	for i, s := range c.series {
		option.SeriesList[i].Name = s.name
		if c.shape == bars || c.inColours() {
			option.SeriesList[i].Label = c.label()
		}
	}
	return option
}

func (c chart) lineOptions(width int) charts.LineChartOption {
	option := charts.NewLineChartOptionWithData(c.values())
	option.Theme = c.theme()
	option.Padding = charts.NewBox(4, 4, 24, 4)
	option.ValueFormatter = c.brief
	option.Legend = charts.LegendOption{Show: charts.Ptr(false)}
	option.XAxis = charts.XAxisOption{Labels: c.labels, LabelFontStyle: text(),
		LabelCount: c.timeLabels(width), BoundaryGap: charts.Ptr(true)}
	option.YAxis = []charts.YAxisOption{c.valueAxis(width)}
	option.Symbol = charts.Symbol{Shape: charts.SymbolDot, Size: 4}
	option.LineStrokeWidth = 2.5
	for i, s := range c.series {
		option.SeriesList[i].Name = s.name
	}
	return option
}

// timeLabels is how many dates fit side by side, 0 for all.
func (c chart) timeLabels(width int) int {
	if most := width / 90; len(c.labels) > most {
		return most
	}
	return 0
}

// valueAxis starts at 0, or bars would lie about proportions, and has round
// numbers.
func (c chart) valueAxis(width int) charts.ValueAxisOption {
	steps, room := 5, 1.0
	if c.horizontal() && width < wideChart {
		steps = 3
	}
	if c.shape == bars || c.inColours() {
		room = 1 + 80/float64(width) // for the label at the end of the longest bar
	}
	title := c.axis
	if !c.horizontal() {
		title = "" // the library would write it over the numbers: see dress
	}
	top, count := roundAxis(c.largest()*room, steps, isCount(c.format))
	return charts.ValueAxisOption{
		Title: title, TitleFontStyle: text(), LabelFontStyle: text(), Min: charts.Ptr(0.0), Max: charts.Ptr(top), RangeValuePaddingScale: charts.Ptr(0.0),
		ValueFormatter: c.brief, LabelCount: count, SplitLineShow: charts.Ptr(true),
	}
}

// brief writes a round number of the axis: 200k, 1.5M.
func (c chart) brief(v float64) string {
	if !isCount(c.format) || v < 10_000 {
		return c.format(v)
	}
	if v < 1e6 {
		return strconv.FormatFloat(v/1e3, 'f', -1, 64) + "k"
	}
	return strconv.FormatFloat(v/1e6, 'f', -1, 64) + "M"
}

// isCount says whether values between two whole numbers mean nothing.
func isCount(format func(float64) string) bool { return !strings.HasSuffix(format(1), "%") }

// roundAxis returns the end of an axis from 0 that holds most in at most steps
// round steps (1, 2 or 5 times a power of ten), and how many labels that makes.
func roundAxis(most float64, steps int, whole bool) (end float64, labels int) {
	if most <= 0 {
		return 1, 2
	}
	power := math.Pow(10, math.Floor(math.Log10(most/float64(steps))))
	step := power
	for _, factor := range []float64{1, 2, 5, 10} {
		step = factor * power
		if most <= step*float64(steps) {
			break
		}
	}
	if whole {
		step = max(step, 1)
	}
	intervals := max(int(math.Ceil(most/step-1e-9)), 1)
	return step * float64(intervals), intervals + 1
}

func (c chart) label() charts.SeriesLabel {
	return charts.SeriesLabel{Show: charts.Ptr(true), FontStyle: text(), Distance: 4,
		LabelFormatter: func(_ int, _ string, value float64) (string, *charts.LabelStyle) {
			if value == charts.GetNullValue() {
				return "", nil
			}
			return c.format(value), nil
		}}
}

// values returns the values as the library wants them.
func (c chart) values() [][]float64 {
	values := make([][]float64, len(c.series))
	for i, s := range c.series {
		values[i] = make([]float64, len(s.values))
		for j, value := range s.values {
			if math.IsNaN(value) {
				value = charts.GetNullValue()
			}
			values[i][c.place(j)] = value
		}
	}
	return values
}

// place is where the library wants label i: a horizontal chart of its starts at
// the bottom, where readers do not.
func (c chart) place(i int) int {
	if c.horizontal() {
		return len(c.labels) - 1 - i
	}
	return i
}

func (c chart) horizontal() bool { return c.shape == bars || c.shape == stacked }

// inColours says whether every bar is of one series: the series are kinds of
// bars then, and not their parts.
func (c chart) inColours() bool {
	if c.shape != stacked {
		return false
	}
	for i := range c.labels {
		parts := 0
		for _, s := range c.series {
			if !math.IsNaN(s.values[i]) {
				parts++
			}
		}
		if parts != 1 {
			return false
		}
	}
	return true
}

func (c chart) shortLabels(width int) []string {
	most := 34
	if width < wideChart {
		most = 17 // 500,001–1,000,000
	}
	short := make([]string, len(c.labels))
	for i, label := range c.labels {
		short[c.place(i)] = shorten(label, most)
	}
	return short
}

// largest is the length of the longest bar, or the highest point.
func (c chart) largest() float64 {
	top := 0.0
	for i := range c.labels {
		sum := 0.0
		for _, s := range c.series {
			switch value := s.values[i]; {
			case math.IsNaN(value):
			case c.shape == stacked || c.shape == columns:
				sum += value
			default:
				sum = max(sum, value)
			}
		}
		top = max(top, sum)
	}
	return top
}

// text is the one style of all text, 12 pixels high.
func text() charts.FontStyle {
	return charts.FontStyle{FontSize: 9, FontColor: colour("--text"), Font: charts.GetFont(charts.FontFamilyRoboto)}
}

// The colours of the library's output are only names for the page's variables:
// rgb(1,0,N) stands for the Nth.
var variables = []string{"--s0", "--s1", "--s2", "--s3", "--s4", "--axis", "--grid", "--text"}

func colour(name string) charts.Color {
	for i, variable := range variables {
		if variable == name {
			return charts.Color{R: 1, B: uint8(i), A: 255}
		}
	}
	return charts.ColorTransparent
}

func (c chart) theme() charts.ColorPalette {
	options := charts.ThemeOption{
		AxisStrokeColor: colour("--axis"), AxisSplitLineColor: colour("--grid"), BackgroundColor: charts.ColorTransparent,
		TextColor: colour("--text"), TextColorTitle: colour("--text"), TextColorMark: colour("--text"), TextColorLabel: colour("--text"),
		TextColorLegend: colour("--text"), TextColorXAxis: colour("--text"), TextColorYAxis: colour("--text"),
	}
	for _, s := range c.series {
		options.SeriesColors = append(options.SeriesColors, colour("--s"+strconv.Itoa(s.colour)))
	}
	return charts.MakeTheme(options)
}

var textElement = regexp.MustCompile(`<text ([^>]*)>([^<]*)</text>`)

// dress makes the library's SVG one for the page: with variables for colours,
// the page's font, a size, and the axis title where the library has no room.
func (c chart) dress(painter *charts.Painter, svg string, width int) string {
	for i, name := range variables {
		svg = strings.ReplaceAll(svg, "rgb(1,0,"+strconv.Itoa(i)+")", "var("+name+")")
	}
	svg = strings.ReplaceAll(svg, ";font-family:'Roboto Medium',sans-serif", "")
	svg = textElement.ReplaceAllStringFunc(svg, func(element string) string {
		parts := textElement.FindStringSubmatch(element)
		return "<text " + parts[1] + fitted(painter, parts[2]) + ">" + parts[2] + "</text>"
	})
	_, drawing, _ := strings.Cut(svg, ">")
	class, top := "wide", 0
	if width < wideChart {
		class = "narrow"
	}
	if !c.horizontal() {
		top = 20
		drawing = fmt.Sprintf(`<text x="4" y="-6" style="fill:var(--text);font-size:12px">%s</text>`, template.HTMLEscapeString(c.axis)) + drawing
	}
	return fmt.Sprintf(`<svg class="%s" width="%d" height="%d" viewBox="0 %d %d %d" aria-hidden="true" focusable="false">%s`,
		class, width, c.height()+top, -top, width, c.height()+top, drawing)
}

// fitted is the attribute that gives text the width which the library has
// reckoned with, whatever font the reader has. Letters that the library's font
// lacks have no such width.
func fitted(painter *charts.Painter, escaped string) string {
	body := html.UnescapeString(escaped)
	for _, r := range body {
		if r > '\u024f' && r != '–' && r != '…' {
			return ""
		}
	}
	return fmt.Sprintf(` textLength="%d" lengthAdjust="spacingAndGlyphs"`, painter.MeasureText(body, 0, text()).Width())
}

func shorten(label string, most int) string {
	if runes := []rune(label); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return label
}
