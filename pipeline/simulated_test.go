package pipeline_test

import (
	"context"
	"iter"
	"net/http"
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
	client, err := fetch.New(fetch.Config{
		UserAgent: "SampleBot/1.0 (+https://bot.example/)", Signer: unsigned{}, Resolver: resolver,
		Slots: semaphore.NewWeighted(int64(slots)), Dial: w.Dial, RootCAs: w.Roots(),
		Timeout: timeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	kept := &results{byRank: map[int64]pipeline.Result{}}
	if err := pipeline.Run(t.Context(), pipeline.Config{
		Sites: sites, Open: func() pipeline.Exchange { return client.Open() }, Sink: kept,
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

// compare checks what a crawl tells of one name against the truth, every fetch
// included.
func compare(t *testing.T, rank int64, name string, want simweb.Fate, got pipeline.Result) {
	t.Helper()
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
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("%d %s (-truth +crawl):\n%s", rank, name, diff)
	}
}

func checkPromises(t *testing.T, w *simweb.Web, timeout time.Duration) {
	t.Helper()
	for _, v := range w.Check(simweb.Limits{Timeout: timeout}) {
		t.Errorf("promise broken: %v", v)
	}
}

// A crawl of a web that does everything says of every site what the web knows
// to be true, and keeps its promises in the web's log.
func TestCrawlTellsTheTruth(t *testing.T) {
	defer goleak.VerifyNone(t)
	// Less than the five seconds of P7: every fifth site is a slow one.
	const names, timeout = 2000, 3 * time.Second
	w, err := simweb.Start(t.Context(), simweb.Config{Seed: 7, Profile: simweb.Flat})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	got := crawlWeb(t, w, entries(w, names), 60, timeout)

	outcomes := map[string]bool{}
	for rank, name := range w.Names(names) {
		want := w.Fate(rank, name)
		outcomes[want.Outcome] = true
		compare(t, rank, name, want, got[rank])
	}
	checkPromises(t, w, timeout)
	for _, o := range pipeline.Outcomes {
		if o != pipeline.OutcomeInterrupted && o != pipeline.OutcomeOptedOut && !outcomes[string(o)] {
			t.Errorf("no site of this web ends as %s: its truth is no test of that", o)
		}
	}
}
