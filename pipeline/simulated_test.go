package pipeline_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sync/semaphore"

	"agentcensus/pipeline"
	"agentcensus/pipeline/fetch"
	"agentcensus/pipeline/resolve"
	"agentcensus/pipeline/robots"
	"agentcensus/pipeline/simweb"
)

// unsigned stands in for the signer where signatures are not the question.
type unsigned struct{}

func (unsigned) Sign(http.Header, string, string, string) error { return nil }

// results keeps every result by rank.
type results struct {
	mu     sync.Mutex
	byRank map[int64]pipeline.Result
}

func (r *results) Begin(context.Context, []pipeline.Site) error { return nil }

func (r *results) Settle(_ context.Context, one pipeline.Result) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byRank[one.Site.Rank] = one
	return nil
}

// entries makes sites of a simulated web's names. Which of them are unusable
// is the web's own word, for reading lists is not what is tested here.
func entries(w *simweb.Web, n int) iter.Seq2[pipeline.Site, error] {
	return func(yield func(pipeline.Site, error) bool) {
		for rank, name := range w.Names(n) {
			s := pipeline.Site{Rank: rank, Domain: name}
			if f := w.Fate(rank, name); f.Outcome == string(pipeline.OutcomeInvalidName) {
				s.Invalid = f.Reason
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// timedSlots knows the longest that a slot was held. A release does not say whose
// slot it is: that of a visit is taken to last until the visit wants another one,
// or its fetch is over.
type timedSlots struct {
	*semaphore.Weighted

	mu   sync.Mutex
	most time.Duration
}

type holderKey struct{}

func (s *timedSlots) Acquire(ctx context.Context, n int64) error {
	v, ok := ctx.Value(holderKey{}).(*timedVisit)
	if !ok {
		return errors.New("a slot for no fetch")
	}
	v.done()
	err := s.Weighted.Acquire(ctx, n)
	if err == nil {
		v.since = time.Now()
	}
	return err
}

func (s *timedSlots) longest() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// timedVisit is a visit that is known to the slots. Like a visit it serves one
// goroutine at a time.
type timedVisit struct {
	*fetch.Visit
	slots *timedSlots
	since time.Time // when its slot was acquired; zero without one
}

func (v *timedVisit) Fetch(ctx context.Context, r fetch.Request) fetch.Answer {
	defer v.done()
	return v.Visit.Fetch(context.WithValue(ctx, holderKey{}, v), r)
}

func (v *timedVisit) done() {
	if v.since.IsZero() {
		return
	}
	held := time.Since(v.since)
	v.since = time.Time{}
	v.slots.mu.Lock()
	defer v.slots.mu.Unlock()
	v.slots.most = max(v.slots.most, held)
}

// crawlWeb crawls sites of w over sockets.
func crawlWeb(t *testing.T, w *simweb.Web, sites iter.Seq2[pipeline.Site, error], slots int, timeout time.Duration) map[int64]pipeline.Result {
	t.Helper()
	resolver, err := resolve.New(resolve.Config{Servers: w.Resolvers(), Timeout: timeout, InFlight: 4 * slots})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := resolver.Close(); err != nil {
			t.Error(err)
		}
	}()
	timed := &timedSlots{Weighted: semaphore.NewWeighted(int64(slots))}
	client, err := fetch.New(fetch.Config{
		UserAgent: "SampleBot/1.0 (+https://bot.example/)", Signer: unsigned{}, Resolver: resolver,
		Slots: timed, Dial: w.Dial, RootCAs: w.Roots(),
		Timeout: timeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if d := timed.longest(); d > timeout+scheduling {
			t.Errorf("P7: a slot was held for %v, of which a request has %v", d, timeout)
		}
		if !timed.TryAcquire(int64(slots)) {
			t.Error("P4: not every slot was given back")
		}
	}()
	kept := &results{byRank: map[int64]pipeline.Result{}}
	if err := pipeline.Run(t.Context(), pipeline.Config{
		Sites: sites, Open: func() pipeline.Exchange { return &timedVisit{Visit: client.Open(), slots: timed} }, Sink: kept,
		Slots: slots, Tokens: []string{"agentcensus"}, RobotsMode: robots.RFC9309,
	}); err != nil {
		t.Fatal(err)
	}
	return kept.byRank
}

// told is a result in the words of the simulated web.
func told(r pipeline.Result) simweb.Fate {
	f := simweb.Fate{Outcome: string(r.Outcome), Reason: r.Reason}
	for _, x := range r.Fetches {
		f.Fetches = append(f.Fetches, simweb.FetchFate{Path: x.Path, Outcome: string(x.Outcome), Reason: x.Reason,
			Status: x.HTTPStatus, Requests: x.Requests, BodyBytes: x.BodyBytes})
	}
	return f
}

// differs says how what a crawl tells differs from the truth, every fetch
// included; "" when it does not.
func differs(want simweb.Fate, got pipeline.Result) string {
	want.Card, want.Change = nil, ""
	have := told(got)
	for i := range want.Fetches {
		if want.Fetches[i].BodyBytes == simweb.Unsure && i < len(have.Fetches) {
			have.Fetches[i].BodyBytes = simweb.Unsure
		}
	}
	if want.Fetches == nil {
		have.Fetches = nil // a scenario need not state them
	}
	return cmp.Diff(want, have)
}

// listed is a list of sites.
func listed(sites []pipeline.Site) iter.Seq2[pipeline.Site, error] {
	return func(yield func(pipeline.Site, error) bool) {
		for _, s := range sites {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// checkTruth compares what a crawl tells of sites with the truth, and looks for
// broken promises in the web's log. A busy machine may be late where the web was
// not: such sites have five seconds once more, a few at a time, and no other
// chance.
func checkTruth(t *testing.T, w *simweb.Web, sites []pipeline.Site, got map[int64]pipeline.Result, timeout time.Duration) {
	t.Helper()
	var late []pipeline.Site
	for _, s := range sites {
		switch diff := differs(w.Fate(s.Rank, s.Domain), got[s.Rank]); {
		case strings.Contains(diff, string(pipeline.OutcomeTimeout)):
			late = append(late, s)
		case diff != "":
			t.Errorf("%d %s (-truth +crawl):\n%s", s.Rank, s.Domain, diff)
		}
	}
	checkPromises(t, w, timeout)
	w.Forget()
	again := crawlWeb(t, w, listed(late), 4, fetch.DefaultTimeout)
	for _, s := range late {
		if diff := differs(w.Fate(s.Rank, s.Domain), again[s.Rank]); diff != "" {
			t.Errorf("%d %s, twice (-truth +crawl):\n%s", s.Rank, s.Domain, diff)
		}
	}
	checkPromises(t, w, fetch.DefaultTimeout)
}

// scheduling is what a slot may be held beyond its time on a machine that is
// busy with other tests.
const scheduling = 2 * time.Second

func checkPromises(t *testing.T, w *simweb.Web, timeout time.Duration) {
	t.Helper()
	for _, v := range w.Check(simweb.Limits{Timeout: timeout, Slack: scheduling}) {
		t.Errorf("promise broken: %v", v)
	}
}

// A crawl of a web that does everything says of every site what the web knows
// to be true, and keeps its promises in the web's log.
func TestCrawlTellsTheTruth(t *testing.T) {
	defer goleak.VerifyNone(t)
	// Less than the five seconds of P7: every third site is a slow one.
	const names, timeout = 2000, 3 * time.Second
	w, err := simweb.Start(t.Context(), simweb.Config{Seed: 7, Profile: simweb.Flat})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	got := crawlWeb(t, w, entries(w, names), 60, timeout)

	var all []pipeline.Site
	outcomes := map[string]bool{}
	for rank, name := range w.Names(names) {
		all = append(all, pipeline.Site{Rank: rank, Domain: name})
		outcomes[w.Fate(rank, name).Outcome] = true
	}
	checkTruth(t, w, all, got, timeout)
	for _, o := range pipeline.Outcomes {
		if o != pipeline.OutcomeInterrupted && o != pipeline.OutcomeOptedOut && !outcomes[string(o)] {
			t.Errorf("no site of this web ends as %s: its truth is no test of that", o)
		}
	}
}
