package pipeline_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
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

// mostDials is how many addresses may be dialled for one host, whatever DNS says.
const mostDials = 8

// Each named site of the scenarios, hostile ones among them, ends as the
// scenario says, with every fetch, and no promise is broken on the way. No slot
// is held longer than a request may take. Memory stays bounded whatever is sent.
func TestScenarios(t *testing.T) {
	for _, file := range []string{"hostile.yaml", "sites.yaml", "promises.yaml"} {
		t.Run(file, func(t *testing.T) {
			s := loadScenario(t, file)
			w := startScenario(t, s)
			spent := watchMemory(t.Context())
			got := crawlWeb(t, w, listed(listOf(s)), 60, fetch.DefaultTimeout)
			heap, allocated := spent()
			t.Logf("heap %d MB, allocated %d MB", heap>>20, allocated>>20)
			if heap > maxHeap || allocated > maxAllocated {
				t.Errorf("%d bytes of heap at once, at most %d; %d allocated in all, at most %d", heap, maxHeap, allocated, maxAllocated)
			}
			dials := map[string]int{}
			for _, e := range w.Log() {
				if e.Kind == simweb.KindDial {
					dials[e.Host]++
				}
			}
			for host, n := range dials {
				if n > mostDials {
					t.Errorf("%s dialled %d times, at most %d", host, n, mostDials)
				}
			}
			checkTruth(t, w, listOf(s), got, fetch.DefaultTimeout)
		})
	}
}

// startScenario runs the web of a scenario for the length of a test, which must
// leave no goroutine behind.
func startScenario(t *testing.T, s *simweb.Scenario) *simweb.Web {
	t.Helper()
	w, err := simweb.Start(t.Context(), simweb.Config{Scenario: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		goleak.VerifyNone(t)
	})
	return w
}

// What one site may make a crawl allocate, the simulated server's part included.
const maxOfASite = 24 << 20 // bytes

// A site that would fill the memory of a careless crawler costs little, each by
// itself.
func TestScenariosCostNoMemory(t *testing.T) {
	s := loadScenario(t, "hostile.yaml")
	for _, name := range []string{
		"gzip-bomb.example", "gzip-bomb-twice.example", "zstd-bomb.example", "zstd-bomb-twice.example", "gzip-zstd-bomb.example",
		"zstd-gzip-bomb.example", "nothing-bomb.example", "zstd-window.example", "rules-gzip-bomb.example", "header-10mb.example",
		"header-70kb.example", "endless-headers.example", "endless-body.example", "endless-1xx.example",
	} {
		t.Run(strings.TrimSuffix(name, ".example"), func(t *testing.T) {
			i := slices.Index(s.Names(), name)
			if i < 0 {
				t.Fatal("no such site in the scenario")
			}
			one := &simweb.Scenario{Only: true, Sites: s.Sites[i : i+1]}
			w := startScenario(t, one)
			crawlWeb(t, w, listed(listOf(one)), 1, fetch.DefaultTimeout) // the server makes its bombs
			checkPromises(t, w, fetch.DefaultTimeout)
			w.Forget()
			spent := watchMemory(t.Context())
			got := crawlWeb(t, w, listed(listOf(one)), 1, fetch.DefaultTimeout)
			heap, allocated := spent()
			t.Logf("heap %d KB, allocated %d KB", heap>>10, allocated>>10)
			if heap > maxOfASite || allocated > maxOfASite {
				t.Errorf("%d bytes of heap at once, %d allocated, at most %d", heap, allocated, maxOfASite)
			}
			checkTruth(t, w, listOf(one), got, fetch.DefaultTimeout)
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
