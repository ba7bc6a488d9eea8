package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"agentcensus/pipeline/agentcard"
	"agentcensus/pipeline/robots"
	"agentcensus/pipeline/simweb"
)

// A child of a test is the test binary again.
func TestMain(m *testing.M) {
	if role := Role(); role != "" {
		if err := Play(context.Background(), role, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func openWeb(t *testing.T, c webConfig) *web {
	t.Helper()
	// The context of a test ends before its cleanups, and would kill the web.
	w, err := startWeb(context.WithoutCancel(t.Context()), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// Every client asks each site for the three paths over one connection, and
// what it says of itself is what the server saw.
func TestEachClientAsksThreePaths(t *testing.T) {
	const sites = 12 // none of them publishes
	w := openWeb(t, webConfig{Profile: simweb.Plain})
	for _, role := range []string{roleBare, roleUnsigned, rolePolite, roleCrawler} {
		t.Run(role, func(t *testing.T) {
			s, err := Options{Log: t.Output()}.serve(t.Context(), w, contender{role: role, name: role}, sites, "test")
			if err != nil {
				t.Fatal(err)
			}
			if s.Sites != sites || s.Requests != 3*sites || s.Failed != 0 {
				t.Errorf("%d sites, %d requests, %d failed", s.Sites, s.Requests, s.Failed)
			}
			if s.Server.Requests != 3*sites || s.Server.Handshakes != sites {
				t.Errorf("at the server: %d requests over %d handshakes", s.Server.Requests, s.Server.Handshakes)
			}
			if s.Server.Peak > slots || s.CPU <= 0 || s.Wall <= 0 || s.Peak <= 0 || s.Blocked != 0 {
				t.Errorf("%d at once, CPU %v, wall %v, peak %d bytes, %v blocked", s.Server.Peak, s.CPU, s.Wall, s.Peak, s.Blocked)
			}
		})
	}
}

// The crawler and the polite loop leave a black hole alone after its
// robots.txt; the dead are the same for both.
func TestBlackHolesAreTheSameForAll(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a request to time out")
	}
	const sites = 20
	w := openWeb(t, webConfig{Profile: simweb.Plain})
	w.Reach.DeadShare = deadShare
	var dead int64
	for n := 1; n <= sites; n++ {
		if w.Reach.dead(siteName(n)) {
			dead++
		}
	}
	if dead == 0 || dead == sites {
		t.Fatalf("%d of %d names are dead", dead, sites)
	}
	for _, role := range []string{rolePolite, roleCrawler} {
		s, err := Options{Log: t.Output()}.serve(t.Context(), w, contender{role: role, name: role}, sites, "test")
		if err != nil {
			t.Fatal(err)
		}
		if s.Failed != dead || s.Server.Requests != 3*(sites-dead) {
			t.Errorf("%s: %d failed of %d dead, %d requests at the server", role, s.Failed, dead, s.Server.Requests)
		}
		if s.Wall > 2*requestTimeout {
			t.Errorf("%s: %v for one timeout", role, s.Wall)
		}
		// Three SYNs are sent within 3 s, and no client waits for more.
		least, most := time.Duration(dead)*3*time.Second, time.Duration(slots)*s.Wall
		if s.Blocked < least || s.Blocked+s.Server.SlotTime > most {
			t.Errorf("%s: dials hung for %v, requests took %v, slots had %v", role, s.Blocked, s.Server.SlotTime, most)
		}
	}
}

func TestTheCrawlInMemory(t *testing.T) {
	var samples []Sample
	run, err := start(t.Context(), roleInMemory, Task{Sites: 1000, CardEvery: cardEvery, SampleSites: 250},
		func(s Sample) { samples = append(samples, s) })
	if err != nil {
		t.Fatal(err)
	}
	if run.Sites != 1000 || run.Outcomes["card"] != 5 || run.Outcomes["not_found"] != 995 {
		t.Errorf("%d sites: %v", run.Sites, run.Outcomes)
	}
	if want := int64(3*1000 - 5); run.Requests != want {
		t.Errorf("%d requests, want %d: a site with a card is not asked for the legacy path", run.Requests, want)
	}
	if len(samples) != 4 || samples[0].Sites != 250 || samples[3].Sites != 1000 || samples[3].State == 0 || samples[0].Files == 0 {
		t.Errorf("samples: %+v", samples)
	}
	if run.Tables == 0 || run.Own == 0 || run.Peak == 0 {
		t.Errorf("%+v", run.Report)
	}
}

func TestACrawlThatDiscardsKeepsNothing(t *testing.T) {
	run, err := start(t.Context(), roleInMemory, Task{Sites: 100, Discard: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if run.Sites != 100 || run.Tables != 0 {
		t.Errorf("%+v", run.Report)
	}
}

// A crawl over sockets of a list file stops when its time is over, with every
// open site finished.
func TestSocketsStopInTime(t *testing.T) {
	list := filepath.Join(t.TempDir(), "names.txt")
	var names strings.Builder
	for n := range 5000 {
		fmt.Fprintf(&names, "name%d.example\n", n)
	}
	if err := os.WriteFile(list, []byte(names.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Sockets(t.Context(), Options{}, list, 1500*time.Millisecond, 300*time.Millisecond, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "at the server: ") || strings.Contains(out.String(), "\n5000 sites") {
		t.Errorf("it did not stop:\n%s", &out)
	}
}

func TestAFailedChildIsAnError(t *testing.T) {
	if _, err := start(t.Context(), roleCrawler, Task{Sites: 1}, nil); err == nil {
		t.Error("a crawl without a web succeeded")
	}
}

func TestPlayRefusesWhatItDoesNotKnow(t *testing.T) {
	if err := Play(t.Context(), "nobody", strings.NewReader("{}"), &bytes.Buffer{}); err == nil {
		t.Error("a role that does not exist was played")
	}
	if err := Play(t.Context(), roleBare, strings.NewReader("not a task"), &bytes.Buffer{}); err == nil {
		t.Error("a task that is none was taken")
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		want float64
	}{
		{nil, 0}, {[]float64{3}, 3}, {[]float64{4, 2}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{1, 1, 1, 100}, 1},
	} {
		if got := median(c.xs); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.xs, got, c.want)
		}
	}
}

// A ratio is taken inside a round: a machine that is twice as busy in one
// round changes nothing.
func TestRatiosAreTakenInsideARound(t *testing.T) {
	run := func(cpu time.Duration) Run { return Run{Report: Report{Sites: 1000}, CPU: cpu} }
	a := []Run{run(time.Second), run(2 * time.Second), run(3 * time.Second)}
	b := []Run{run(2 * time.Second), run(4 * time.Second), run(6 * time.Second)}
	if got := medianRatio(a, b, cpuPerSite); got != 0.5 {
		t.Errorf("ratio %v, want 0.5", got)
	}
	if got := medianOf(a, cpuPerSite); got != 2 {
		t.Errorf("%v ms a site, want 2", got)
	}
	if got := medianRatio(a, []Run{{}}, cpuPerSite); !math.IsNaN(got) {
		t.Errorf("ratio to a run of no sites: %v", got)
	}
}

// The dearest and the cheapest are those of one round too.
func TestTheSpreadIsThatOfARound(t *testing.T) {
	run := func(own time.Duration) Run { return Run{Report: Report{Sites: 1000, Own: own}} }
	small := []Run{run(30 * time.Millisecond), run(90 * time.Millisecond), run(40 * time.Millisecond)}
	large := []Run{run(36 * time.Millisecond), run(60 * time.Millisecond), run(36 * time.Millisecond)}
	if got := medianSpread([][]Run{small, large}, ownCost); math.Abs(got-1.2) > 1e-9 { // of 1.2, 1.5 and 1.11
		t.Errorf("spread %v, want 1.2", got)
	}
	if got := medianSpread([][]Run{small, large[:2]}, ownCost); math.Abs(got-1.35) > 1e-9 {
		t.Errorf("spread %v without the round that is not whole, want 1.35", got)
	}
	for _, none := range [][][]Run{nil, {nil, nil}, {small, nil}} {
		if got := medianSpread(none, ownCost); !math.IsNaN(got) {
			t.Errorf("spread %v of no round", got)
		}
	}
	if got := eachOf(small, ownCost); got != "30.000, 90.000, 40.000" {
		t.Errorf("each: %s", got)
	}
}

// Slots are used by requests that the server saw and by dials that hung.
func TestSlotsUsed(t *testing.T) {
	r := Run{Report: Report{Wall: 10 * time.Second, Blocked: 90 * time.Second}, Server: simweb.Stats{SlotTime: 450 * time.Second}}
	if got := slotsUsed(r); got != 0.9 {
		t.Errorf("slot use %v, want 0.9", got)
	}
}

// Attempts at one host count once while they overlap; those at several hosts
// each, and those that are not over yet up to now.
func TestHungDialsAreCountedOnce(t *testing.T) {
	start := time.Now()
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	var h hung
	h.begin("one.example", at(0))
	h.begin("one.example", at(1)) // its second address
	h.begin("two.example", at(2))
	h.end("one.example", at(4))
	h.end("one.example", at(5))
	if got := h.until(at(6)); got != 9*time.Second {
		t.Errorf("%v, want 5 s of one and 4 s of two", got)
	}
	h.end("two.example", at(7))
	h.begin("one.example", at(10)) // asked again
	h.end("one.example", at(12))
	if got := h.until(at(20)); got != 12*time.Second {
		t.Errorf("%v, want 7 s of one and 5 s of two", got)
	}
	if len(h.open) != 0 {
		t.Errorf("%d hosts are left", len(h.open))
	}
}

func TestPerSite(t *testing.T) {
	r := Run{Report: Report{Sites: 500, Wall: 2 * time.Second}}
	if got := sitesPerSecond(r); got != 250 {
		t.Errorf("%v sites/s, want 250", got)
	}
	if got := slotUse(90*time.Second, 2*time.Second, 60); got != 0.75 {
		t.Errorf("slot use %v, want 0.75", got)
	}
	if sitesPerSecond(Run{}) != 0 || perSite(time.Second, 0) != 0 || slotUse(1, 0, 60) != 0 {
		t.Error("a run of nothing has a rate")
	}
}

func TestTheTableSaysWhatIsMissed(t *testing.T) {
	figures := []Figure{
		atMost("low enough", 0.95, 0.95, ""), atMost("too high", 31.25, 30, " µs"),
		atLeast("too low", 0.97, 0.98, ""), atLeast("high enough", 1, 1, ""), shown("only shown", "%d MB", 7),
	}
	var out strings.Builder
	missed, err := WriteTable(&out, figures)
	if err != nil || missed != 2 {
		t.Errorf("%d missed, %v", missed, err)
	}
	want := `| figure      | measured | wanted   |        |
| ----------- | -------- | -------- | ------ |
| low enough  | 0.950    | <= 0.950 | ok     |
| too high    | 31.2 µs  | <= 30 µs | missed |
| too low     | 0.970    | >= 0.980 | missed |
| high enough | 1        | >= 1     | ok     |
| only shown  | 7 MB     |          |        |
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

// A figure that could not be computed is no reached one.
func TestNotANumberIsMissed(t *testing.T) {
	zero := 0.0
	if !atMost("x", zero/zero, 1, "").Missed || !atLeast("x", zero/zero, 1, "").Missed {
		t.Error("0/0 passes")
	}
}

func TestNamesAndTheirNumbers(t *testing.T) {
	for _, n := range []int{1, 42, 1_000_000} {
		if got := siteNumber(siteName(n)); got != n {
			t.Errorf("%s is number %d, want %d", siteName(n), got, n)
		}
	}
	if siteNumber("www.shop.test") != 0 {
		t.Error("a foreign name has a number")
	}
}

// The share of the dead is what was asked for, and an address lies where the
// web listens.
func TestReach(t *testing.T) {
	r := Reach{Port: 4433, DeadShare: 0.15}
	dead := 0
	for n := range 20_000 {
		name := siteName(n)
		if r.dead(name) {
			dead++
		}
		if a := r.address(name); !loopback.Contains(a.Addr()) || a.Port() != 4433 {
			t.Fatalf("%s is at %v", name, a)
		}
	}
	if dead < 2800 || dead > 3200 {
		t.Errorf("%d of 20000 are dead, want about 3000", dead)
	}
	if (Reach{}).dead(siteName(1)) {
		t.Error("a web without dead sites has one")
	}
}

func TestSamplesAreWhatTheyAreCalled(t *testing.T) {
	card := sampleCard(1, cardSize)
	if v, _ := agentcard.Read(card); v.Kind != agentcard.Is || len(card) > 21_000 || !json.Valid(card) {
		t.Errorf("%d bytes: %+v", len(card), v)
	}
	if again := sampleCard(1, cardSize); !bytes.Equal(card, again) {
		t.Error("the card of a site is another the second time")
	}
	for _, size := range []int{1_000, 20_000, robots.MaxBody} {
		body := sampleRobots(size)
		if len(body) > size || len(body) < size-300 {
			t.Errorf("%d bytes, want about %d", len(body), size)
		}
	}
}

// Cards are as alike as different publishers' are: packed together they take
// nearly what they take one by one.
func TestCardsDiffer(t *testing.T) {
	packed := func(cards ...[]byte) int {
		var out bytes.Buffer
		w, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(bytes.Join(cards, nil)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Len()
	}
	var cards [][]byte
	alone := 0
	for n := 1; n <= 10; n++ {
		card := sampleCard(n*cardEvery, cardSize)
		if v, _ := agentcard.Read(card); v.Kind != agentcard.Is || !bytes.Contains(card, []byte(siteName(n*cardEvery))) {
			t.Errorf("card %d: %+v", n, v)
		}
		cards = append(cards, card)
		alone += packed(card)
	}
	if share := float64(alone) / (10 * cardSize); share < 0.28 || share > 0.38 {
		t.Errorf("a card shrinks to %.2f of its size, want a third", share)
	}
	if together := packed(cards...); float64(together) < 0.7*float64(alone) {
		t.Errorf("%d bytes together, %d one by one", together, alone)
	}
}

func TestGroupsEndWithTheList(t *testing.T) {
	if g := ranksOf(1, 1000); len(g) != sinkGroup || g[0] != 1 {
		t.Errorf("the first group: %v", g)
	}
	if g := ranksOf(121, 122); !slices.Equal(g, []int64{121, 122}) {
		t.Errorf("the last group: %v", g)
	}
	if g := ranksOf(121, 120); len(g) != 0 {
		t.Errorf("behind the end: %v", g)
	}
}

func TestMeasureRefusesUnknownFigures(t *testing.T) {
	if _, err := Measure(t.Context(), Quick(), []string{"speed"}); err == nil {
		t.Error("an unknown figure was measured")
	}
}

// The figures that need no sockets, at a size that says only that they work.
func TestSmallFigures(t *testing.T) {
	o := Quick()
	o.Sites, o.Million, o.Log = 300, 2_000, t.Output()
	figures, err := Measure(t.Context(), o, []string{"memory", "pipeline", "signature", "sink", "parse"})
	if err != nil {
		t.Fatal(err)
	}
	if len(figures) < 15 {
		t.Errorf("%d figures", len(figures))
	}
	for _, f := range figures {
		if f.Name == "" || f.Measured == "" || strings.Contains(f.Measured, "NaN") || strings.Contains(f.Measured, "Inf") {
			t.Errorf("%+v", f)
		}
	}
}
