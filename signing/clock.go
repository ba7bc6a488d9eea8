package signing

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// clockSamples is how many differences a ClockWatch keeps.
const clockSamples = 1024

// ClockWatch compares the own clock with the Date headers of answers: a signature
// dated ahead is refused by verifiers without leeway, and only the origins know
// the time they check it by. It keeps the last 1024 differences in 8 KiB and is
// safe for concurrent use. The zero ClockWatch is ready.
type ClockWatch struct {
	mu    sync.Mutex
	ring  [clockSamples]time.Duration
	count int // how many were ever observed
}

// Observe takes the Date header of an answer received at an instant of the own
// clock; a value that is no date is passed over. Answers out of a cache (with an
// Age header) say an old time and should not be given. A Date is cut to the
// second, so that half a second is added to it.
func (c *ClockWatch) Observe(date string, received time.Time) {
	theirs, err := http.ParseTime(date)
	if err != nil {
		return
	}
	// Sub saturates instead of overflowing.
	difference := received.Sub(theirs.Add(time.Second / 2))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ring[c.count%clockSamples] = difference
	c.count++
}

// Median returns the median difference, own clock less theirs: positive when the
// own clock is ahead, the transit of an answer included. n is how many
// differences it is of, 0 to 1024; it is 0 when there are none.
func (c *ClockWatch) Median() (difference time.Duration, n int) {
	c.mu.Lock()
	n = min(c.count, clockSamples)
	sorted := slices.Clone(c.ring[:n])
	c.mu.Unlock()
	if n == 0 {
		return 0, 0
	}
	slices.Sort(sorted)
	low, high := sorted[(n-1)/2], sorted[n/2]
	return low + (high-low)/2, n
}
