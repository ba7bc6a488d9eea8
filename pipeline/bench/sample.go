package bench

import (
	"fmt"
	"io"
	"time"
)

// Sample is the process and its crawl at a moment.
type Sample struct {
	After      time.Duration // since the crawl began
	Sites      int64         // settled
	Requests   int64
	CPU        time.Duration // of the process so far
	RSS, Peak  int64         // resident now and at most, in bytes
	Anon       int64         // resident without mapped files
	Live       int64         // heap that the last collection left
	Goroutines int
	Files      int   // open
	State      int64 // size of the state file, in bytes
}

const seriesLayout = "%9v %9v %9v %7v %9v %9v %9v %9v %9v %10v %6v %9v"

func seriesHead(w io.Writer) error {
	_, err := fmt.Fprintf(w, seriesLayout+"\n", "seconds", "sites", "requests", "rate",
		"CPU/site", "RSS MiB", "peak MiB", "anon MiB", "live MiB", "goroutines", "files", "state MiB")
	return err
}

// String is the sample as a line under seriesHead.
func (s Sample) String() string {
	rate, cpu := 0.0, 0.0
	if s.After > 0 {
		rate = float64(s.Sites) / s.After.Seconds()
	}
	if s.Sites > 0 {
		cpu = s.CPU.Seconds() * 1e6 / float64(s.Sites)
	}
	return fmt.Sprintf(seriesLayout, fmt.Sprintf("%.1f", s.After.Seconds()), s.Sites, s.Requests, fmt.Sprintf("%.0f", rate),
		fmt.Sprintf("%.1fµs", cpu), fmt.Sprintf("%.1f", mib(s.RSS)), fmt.Sprintf("%.1f", mib(s.Peak)),
		fmt.Sprintf("%.1f", mib(s.Anon)), fmt.Sprintf("%.1f", mib(s.Live)), s.Goroutines, s.Files, fmt.Sprintf("%.2f", mib(s.State)))
}
