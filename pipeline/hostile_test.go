package pipeline_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"agentcensus/pipeline"
	"agentcensus/pipeline/fetch"
	"agentcensus/pipeline/simweb"
)

// Bounds on what a scenario file may cost, server and client together, under
// the race detector. A single bomb that is not stopped is 256 MB.
const (
	maxHeap      = 128 << 20 // bytes of live and dead objects at any time, above what was there before
	maxAllocated = 320 << 20 // bytes allocated in all
)

// Each named site of the scenarios, hostile ones among them, ends as the
// scenario says, and no promise is broken on the way. No slot is held longer
// than a request may take: the checker reads that from the log. Memory stays
// bounded whatever is sent.
func TestScenarios(t *testing.T) {
	for _, file := range []string{"hostile.yaml", "sites.yaml", "promises.yaml"} {
		t.Run(file, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			s := loadScenario(t, file)
			w, err := simweb.Start(t.Context(), simweb.Config{Scenario: s})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			}()
			spent := watchMemory(t.Context())
			got := crawlWeb(t, w, listed(listOf(s)), 60, fetch.DefaultTimeout)
			heap, allocated := spent()
			t.Logf("heap %d MB, allocated %d MB", heap>>20, allocated>>20)
			if heap > maxHeap || allocated > maxAllocated {
				t.Errorf("%d bytes of heap at once, at most %d; %d allocated in all, at most %d", heap, maxHeap, allocated, maxAllocated)
			}
			checkTruth(t, w, listOf(s), got, fetch.DefaultTimeout)
		})
	}
}

// The scenarios that are over soon, through deaths at fixed moments.
func TestScenariosThroughDeaths(t *testing.T) {
	for _, file := range []string{"sites.yaml", "promises.yaml"} {
		for name, deaths := range map[string][]death{
			"none":                 nil,
			"killed early":         {{after: 0}, {after: 3}},
			"killed again":         {{after: 8}, {after: 9}, {after: 10}},
			"stopped, then killed": {{after: 6, signal: true}, {after: 5}},
		} {
			t.Run(file+" "+name, func(t *testing.T) {
				defer goleak.VerifyNone(t)
				s := loadScenario(t, file)
				for _, fault := range crawlToTheEnd(t, &randomWeb{scenario: s, list: listOf(s), inFlight: 3}, deaths, true) {
					t.Error(fault)
				}
			})
		}
	}
}

func loadScenario(t *testing.T, file string) *simweb.Scenario {
	t.Helper()
	s, err := simweb.LoadScenario(filepath.Join("simweb", "testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// listOf are the names of a scenario as a list.
func listOf(s *simweb.Scenario) []pipeline.Site {
	var list []pipeline.Site
	for i, name := range s.Names() {
		list = append(list, pipeline.Site{Rank: int64(i + 1), Domain: name})
	}
	return list
}

// watchMemory samples the heap until the function it returns is called, which
// says how far it rose and how much was allocated.
func watchMemory(ctx context.Context) func() (heap, allocated uint64) {
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	ctx, stop := context.WithCancel(ctx)
	peak := make(chan uint64)
	go func() {
		most, tick := before.HeapAlloc, time.NewTicker(5*time.Millisecond)
		defer tick.Stop()
		for {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
			select {
			case <-tick.C:
			case <-ctx.Done():
				peak <- most
				return
			}
		}
	}()
	return func() (heap, allocated uint64) {
		stop()
		most := <-peak
		var after runtime.MemStats
		runtime.ReadMemStats(&after)
		return most - before.HeapAlloc, after.TotalAlloc - before.TotalAlloc
	}
}

// absent is a web in memory where nobody has a card.
type absent struct{}

func (absent) Resolve(context.Context, string) error { return nil }
func (absent) Known(*url.URL) (fetch.Answer, bool)   { return fetch.Answer{}, false }
func (absent) Close()                                {}
func (absent) Fetch(_ context.Context, r fetch.Request) fetch.Answer {
	return fetch.Answer{URL: r.URL, Status: http.StatusNotFound, Requests: 1}
}

// counting is a sink that keeps nothing and looks at the process now and then.
type counting struct {
	settled, every int
	heaps          []uint64
	goroutines     int // most at any look
}

func (c *counting) Begin(context.Context, []pipeline.Site) error { return nil }

func (c *counting) Settle(context.Context, pipeline.Result) error {
	if c.settled++; c.settled%c.every == 0 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		c.heaps = append(c.heaps, m.HeapAlloc)
		c.goroutines = max(c.goroutines, runtime.NumGoroutine())
	}
	return nil
}

// A crawl holds the sites that are open, and a few bytes of every other: it
// keeps no queue, no visited page and no goroutine of a site that is done.
func TestACrawlStaysSmall(t *testing.T) {
	defer goleak.VerifyNone(t)
	const sites, slots, perSite = 12_000, 4, 64
	before, c := runtime.NumGoroutine(), &counting{every: sites / 8}
	if err := pipeline.Run(t.Context(), pipeline.Config{
		Sites: func(yield func(pipeline.Site, error) bool) {
			for i := range sites {
				if !yield(pipeline.Site{Rank: int64(i + 1), Domain: fmt.Sprintf("s%d.example", i)}, nil) {
					return
				}
			}
		},
		Open: func() pipeline.Exchange { return absent{} }, Sink: c, Slots: slots,
	}); err != nil {
		t.Fatal(err)
	}
	// Workers of the four stages, and the goroutines that join them.
	if most := before + 4*slots + 3*2*slots + 20; c.goroutines > most {
		t.Errorf("%d goroutines, at most %d", c.goroutines, most)
	}
	first, last := c.heaps[0], c.heaps[len(c.heaps)-1]
	if grown := int64(last) - int64(first); c.settled != sites || grown > sites*perSite {
		t.Errorf("%d sites settled; the heap grew by %d bytes, at most %d a site", c.settled, grown, perSite)
	}
}
