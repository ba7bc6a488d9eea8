package signing

import (
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTheMedianDifferenceOfClocks(t *testing.T) {
	date := func(ahead time.Duration) string { return noon.Add(-ahead).UTC().Format(http.TimeFormat) }
	for _, tc := range []struct {
		name  string
		dates []string
		want  time.Duration // with noon's 0.7 s past the second, less 0.5 s
		n     int
	}{
		{"nothing observed", nil, 0, 0},
		{"no date", []string{"", "yesterday", "0"}, 0, 0},
		{"clocks agree", []string{date(0)}, 200 * time.Millisecond, 1},
		{"own clock ahead", []string{date(5 * time.Second)}, 5200 * time.Millisecond, 1},
		{"own clock behind", []string{date(-5 * time.Second)}, -4800 * time.Millisecond, 1},
		{"one origin is wild", []string{date(0), date(0), date(1e6 * time.Hour)}, 200 * time.Millisecond, 3},
		{"an even number", []string{date(0), date(2 * time.Second)}, 1200 * time.Millisecond, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var c ClockWatch
			for _, d := range tc.dates {
				c.Observe(d, noon)
			}
			if got, n := c.Median(); got != tc.want || n != tc.n {
				t.Errorf("median %v of %d, want %v of %d", got, n, tc.want, tc.n)
			}
		})
	}
}

func TestOnlyTheLastDifferencesAreKept(t *testing.T) {
	var c ClockWatch
	for i := range 3 * clockSamples {
		ahead := time.Hour
		if i >= 2*clockSamples {
			ahead = 0
		}
		c.Observe(noon.Add(-ahead).UTC().Format(http.TimeFormat), noon)
	}
	if got, n := c.Median(); n != clockSamples || got != 200*time.Millisecond {
		t.Errorf("median %v of %d", got, n)
	}
}

// Origins whose clocks are right, asked at random instants, make no difference.
func TestRightClocksAgreeWithinHalfASecond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c ClockWatch
		for range rapid.IntRange(1, 100).Draw(t, "answers") {
			received := noon.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "instant")))
			c.Observe(received.UTC().Format(http.TimeFormat), received)
		}
		if got, _ := c.Median(); got.Abs() > time.Second/2 {
			t.Fatalf("median %v", got)
		}
	})
}
