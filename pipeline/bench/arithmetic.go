package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// median is the middle of xs, the mean of the middle two when they are even;
// 0 of none.
func median(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(xs))
	half := len(s) / 2
	if len(s)%2 == 1 {
		return s[half]
	}
	return (s[half-1] + s[half]) / 2
}

// medianOf is the median of what f says of each run.
func medianOf(runs []Run, f func(Run) float64) float64 {
	xs := make([]float64, len(runs))
	for i, r := range runs {
		xs[i] = f(r)
	}
	return median(xs)
}

// eachOf is what f says of each run, in their order.
func eachOf(runs []Run, f func(Run) float64) string {
	var parts []string
	for _, r := range runs {
		parts = append(parts, fmt.Sprintf("%.3f", f(r)))
	}
	return strings.Join(parts, ", ")
}

// medianRatio is the median over the rounds of f(a)/f(b), both of one round;
// not a number where no round has both.
func medianRatio(a, b []Run, f func(Run) float64) float64 {
	var xs []float64
	for i := range min(len(a), len(b)) {
		if d := f(b[i]); d != 0 {
			xs = append(xs, f(a[i])/d)
		}
	}
	if len(xs) == 0 {
		return math.NaN()
	}
	return median(xs)
}

// medianSpread is the median over the rounds of the largest f of a round's
// runs divided by the smallest. runs are by contender; not a number where
// there is no round.
func medianSpread(runs [][]Run, f func(Run) float64) float64 {
	var xs []float64
	for round := 0; ; round++ {
		var values []float64
		for _, rs := range runs {
			if round < len(rs) {
				values = append(values, f(rs[round]))
			}
		}
		if len(values) < max(1, len(runs)) {
			break
		}
		xs = append(xs, slices.Max(values)/slices.Min(values))
	}
	if len(xs) == 0 {
		return math.NaN()
	}
	return median(xs)
}

// cpuPerSite is the client's user and system time a site, in milliseconds.
func cpuPerSite(r Run) float64 { return perSite(r.CPU, r.Sites) * 1e3 }

// sitesPerSecond is the rate of a run.
func sitesPerSecond(r Run) float64 {
	if r.Wall <= 0 {
		return 0
	}
	return float64(r.Sites) / r.Wall.Seconds()
}

// perSite is a share of d in seconds.
func perSite(d time.Duration, sites int64) float64 {
	if sites == 0 {
		return 0
	}
	return d.Seconds() / float64(sites)
}

// slotUse is which part of the time of all slots was spent on requests.
func slotUse(requests, wall time.Duration, slots int) float64 {
	if wall <= 0 {
		return 0
	}
	return requests.Seconds() / (float64(slots) * wall.Seconds())
}

// slotsUsed is the slot use of a run: requests by the server's clock, and
// dials that hung, which the server never saw, by the client's.
func slotsUsed(r Run) float64 { return slotUse(r.Server.SlotTime+r.Blocked, r.Wall, slots) }

// megabyte is the unit of figures; mebibyte that of settings and of the
// process as it goes.
const (
	megabyte = 1e6
	mebibyte = 1 << 20
)

func mb(bytes int64) float64 { return float64(bytes) / megabyte }

func mib(bytes int64) float64 { return float64(bytes) / mebibyte }
