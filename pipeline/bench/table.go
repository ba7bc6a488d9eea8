package bench

import (
	"fmt"
	"io"
	"strings"
)

// Figure is one line of the table.
type Figure struct {
	Name     string
	Measured string
	Wanted   string // "" when nothing is
	Missed   bool
}

// atMost is a figure that must not be above limit.
func atMost(name string, value, limit float64, unit string) Figure {
	return Figure{Name: name, Measured: number(value) + unit, Wanted: "<= " + number(limit) + unit, Missed: !(value <= limit)}
}

// atLeast is a figure that must not be below limit.
func atLeast(name string, value, limit float64, unit string) Figure {
	return Figure{Name: name, Measured: number(value) + unit, Wanted: ">= " + number(limit) + unit, Missed: !(value >= limit)}
}

// shown is a figure of which nothing is wanted.
func shown(name, format string, a ...any) Figure {
	return Figure{Name: name, Measured: fmt.Sprintf(format, a...)}
}

// number writes x with as many digits as can mean something.
func number(x float64) string {
	switch {
	case x == float64(int64(x)):
		return fmt.Sprintf("%.0f", x)
	case x >= 100 || x <= -100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10 || x <= -10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.3f", x)
}

func (f Figure) verdict() string {
	switch {
	case f.Wanted == "":
		return ""
	case f.Missed:
		return "missed"
	}
	return "ok"
}

// WriteTable writes figures as a Markdown table and returns how many are
// missed.
func WriteTable(w io.Writer, figures []Figure) (missed int, err error) {
	rows := [][4]string{{"figure", "measured", "wanted", ""}}
	for _, f := range figures {
		rows = append(rows, [4]string{f.Name, f.Measured, f.Wanted, f.verdict()})
		if f.Missed {
			missed++
		}
	}
	var width [4]int
	for _, r := range rows {
		for i, cell := range r {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	line := func(cells [4]string, pad string) string {
		var b strings.Builder
		for i, cell := range cells {
			b.WriteString("| " + cell + strings.Repeat(pad, width[i]-len([]rune(cell))) + " ")
		}
		return b.String() + "|\n"
	}
	out := line(rows[0], " ") + line([4]string{}, "-")
	for _, r := range rows[1:] {
		out += line(r, " ")
	}
	_, err = io.WriteString(w, out)
	return missed, err
}
