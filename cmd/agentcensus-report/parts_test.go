package main

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRegistrableDomain(t *testing.T) {
	for host, want := range map[string]string{
		"api.perch.example":          "perch.example",
		"perch.example:8443":         "perch.example",
		"PERCH.example.":             "perch.example",
		"a.b.perch.co.uk":            "perch.co.uk",
		"finch-1.eu.run.app":         "run.app",
		"x.vercel.app":               "vercel.app",
		"u.github.io":                "github.io",
		"s3.eu-west-1.amazonaws.com": "amazonaws.com",
		"localhost:8000":             "localhost",
		"co.uk":                      "co.uk",
		"192.0.2.7:443":              "192.0.2.7",
		"[2001:db8::1]:443":          "2001:db8::1",
		"2001:db8::1":                "2001:db8::1",
		"":                           "",
	} {
		if got := registrableDomain(host); got != want {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
}

func TestNumbersForReaders(t *testing.T) {
	for value, want := range map[any]string{
		int64(0): "0", int64(999): "999", int64(1000): "1,000", int64(-1234567): "-1,234,567", 80.: "80", 80.25: "80.2", true: "yes", "word": "word", nil: noValue,
	} {
		if got := count(value); got != want {
			t.Errorf("count(%v) = %q, want %q", value, got, want)
		}
	}
	for value, want := range map[float64]string{
		0: "0%", 1: "100%", .5: "50%", 2. / 3: "66.7%", .0179641: "1.8%", .00417: "0.417%", .000012345: "0.00123%", .99951: "100%", .9994: "99.9%", .1: "10%"} {
		if got := percent(value); got != want {
			t.Errorf("percent(%v) = %q, want %q", value, got, want)
		}
	}
}

func TestStrangersTextIsBounded(t *testing.T) {
	for text, want := range map[string]string{
		"two\nlines\t":            "two lines ",
		"write to a.b@mail.test!": "write to (mail address)",
		"\x1b[31mred":             "[31mred",
		"@handle and a @ b":       "@handle and a @ b",
		strings.Repeat("雪", 100):  strings.Repeat("雪", mostShown-1) + "…",
	} {
		if got := shown(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestAxesAreRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Float64Range(1e-9, 1e12).Draw(t, "most")
		steps := rapid.IntRange(2, 6).Draw(t, "steps")
		whole := rapid.Bool().Draw(t, "whole")
		end, labels := roundAxis(most, steps, whole)
		if end < most*(1-1e-9) || labels < 2 || labels > steps+1 {
			t.Fatalf("the axis ends at %v with %d labels", end, labels)
		}
		step := end / float64(labels-1)
		if whole && step != math.Round(step) {
			t.Fatalf("steps of %v", step)
		}
		digit := step / math.Pow(10, math.Floor(math.Log10(step)+1e-9))
		if d := math.Round(digit); math.Abs(digit-d) > 1e-6 || d != 1 && d != 2 && d != 5 && d != 10 {
			t.Fatalf("steps of %v", step)
		}
	})
}

func TestAFileAppearsWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "page.html")
	write := func(text string, fail error) error {
		return writeWhole(path, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return errors.Join(err, fail)
		})
	}
	if err := write("old", nil); err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left")
	if err := write("half of the new", full); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "old" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestAChartOfManyRowsShowsSomeAndSaysSo(t *testing.T) {
	rows := table{columns: []string{"tag", "cards"}}
	weeks := table{columns: []string{"crawl", "up", "down", "unknown", "skipped"}}
	for i := range 40 {
		rows.rows = append(rows.rows, []any{string(rune('A' + i)), int64(100 - i)})
		weeks.rows = append(weeks.rows, []any{string(rune('A' + i)), int64(i), int64(0), int64(0), nil})
	}
	biggest, err := pageExhibitOf(skillTags, rows)
	if err != nil {
		t.Fatal(err)
	}
	if want := "The picture shows the first 20 of 40 rows; the table has them all."; biggest.Left != want || len(biggest.Rows) != 40 {
		t.Errorf("%q, %d rows", biggest.Left, len(biggest.Rows))
	}
	latest, why := uptime.chart(weeks)
	if why != "" || latest.labels[0] != string(rune('A'+14)) || len(latest.labels) != 26 {
		t.Errorf("of weeks it shows %v %s", latest.labels, why)
	}
}
