package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/term"

	"agentcensus/pipeline/agentcard"
)

// noValue stands where a number is not known.
const noValue = "–"

// mostShown is how many characters of a stranger's text are shown.
const mostShown = 80

var mailAddress = regexp.MustCompile(`[^\s<>()@]+@[^\s<>()@]+\.[^\s<>()@]+`)

// shown makes a stranger's text fit for the page and the summary: on one line,
// of bounded length, and without mail addresses.
func shown(text string) string {
	text = mailAddress.ReplaceAllString(printable(text), "(mail address)")
	return shorten(text, mostShown)
}

// printable makes text of strangers safe to print on a terminal.
func printable(text string) string { return agentcard.Printable(text) }

// isTerminal says whether somebody looks at w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// heading makes a column's name words.
func heading(column string) string {
	switch column {
	case "a2a_version", "a2a_version_changed":
		column = strings.Replace(column, "a2a", "A2A", 1)
	case "supporting_1_0", "supporting_0_3", "share_1_0":
		return strings.NewReplacer("_1_0", " 1.0", "_0_3", " 0.3", "_", " ").Replace(column)
	case "with_0_1_block":
		return "with 0.1 block"
	case "shape_0_x", "shape_1_x", "shape_union":
		return strings.NewReplacer("shape_0_x", "0.x", "shape_1_x", "1.x", "shape_union", "union").Replace(column)
	case "agent_card_json", "agent_json":
		return strings.NewReplacer("agent_card_json", "agent-card.json", "agent_json", "agent.json").Replace(column)
	case "list_id":
		return "list ID"
	case "median_latency_ms":
		return "median latency, ms"
	}
	return strings.ReplaceAll(column, "_", " ")
}

// isShare says whether a column holds fractions.
func isShare(column string) bool { return strings.HasPrefix(column, "share") }

// cell writes a value of a column for a reader.
func cell(column string, value any) string {
	if v, ok := value.(float64); ok && isShare(column) {
		return percent(v)
	}
	return count(value)
}

// count writes a value that is no share: numbers with a comma every three
// digits.
func count(value any) string {
	switch v := value.(type) {
	case nil:
		return noValue
	case int64:
		return grouped(strconv.FormatInt(v, 10))
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return grouped(strconv.FormatInt(int64(v), 10))
		}
		return strconv.FormatFloat(v, 'f', 1, 64)
	case bool:
		if v {
			return "yes"
		}
		return "no"
	}
	return fmt.Sprint(value)
}

// count0 is count for charts.
func count0(v float64) string { return count(v) }

func grouped(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// percent writes a fraction to three significant digits.
func percent(v float64) string {
	v *= 100
	if v == 0 || v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64) + "%"
	}
	decimals := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	text := strconv.FormatFloat(v, 'f', max(decimals, 0), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + "%"
}

// number is a value as a number, NaN without one.
func number(value any) float64 {
	switch v := value.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}
