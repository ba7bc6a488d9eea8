package pipeline

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"agentcensus/pipeline/fetch"
	"agentcensus/pipeline/robots"
)

const (
	cardBody = `{"name":"Sample","description":"d","version":"1","supportedInterfaces":[{"url":"https://a.example/x","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`
	card     = "a.example" + CardPath
	legacy   = "a.example" + LegacyCardPath
	rules    = "a.example" + RobotsPath
)

// crawlOne crawls a.example alone and returns its result and what was asked.
func crawlOne(t *testing.T, w *scripted, change func(*Config)) (Result, []string) {
	t.Helper()
	defer goleak.VerifyNone(t)
	k := newKept()
	c := Config{Sites: list("a.example"), Open: w.open, Sink: k, Slots: 4, Tokens: []string{"SampleBot"}, RobotsMode: robots.RFC9309}
	if change != nil {
		change(&c)
	}
	if err := Run(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	r, ok := k.results[1]
	if !ok {
		t.Fatal("the site has no result")
	}
	return r, w.requests()
}

func TestOneSite(t *testing.T) {
	timeout := &fetch.Error{Kind: fetch.Timeout, Reason: "headers"}
	for _, c := range []struct {
		name    string
		pages   map[string]page
		dns     *fetch.Error
		strict  bool
		outcome Outcome
		reason  string
		asked   []string
	}{
		{name: "a card at the first path ends the asking",
			pages:   map[string]page{card: {status: 200, body: cardBody}},
			outcome: OutcomeCard, reason: "R1", asked: []string{rules, card}},
		{name: "a card at the legacy path counts",
			pages:   map[string]page{legacy: {status: 200, body: cardBody}},
			outcome: OutcomeCard, reason: "R1", asked: []string{rules, card, legacy}},
		{name: "no card anywhere",
			outcome: OutcomeNotFound, asked: []string{rules, card, legacy}},
		{name: "the higher outcome speaks",
			pages:   map[string]page{card: {status: 404}, legacy: {status: 403}},
			outcome: OutcomeAuthRequired, asked: []string{rules, card, legacy}},
		{name: "429 ends the site",
			pages:   map[string]page{card: {status: 429}},
			outcome: OutcomeRateLimited, asked: []string{rules, card}},
		{name: "so does a challenge that is a 429",
			pages:   map[string]page{card: {status: 429, header: http.Header{"X-Vercel-Mitigated": {"challenge"}}}},
			outcome: OutcomeChallenged, reason: "vercel", asked: []string{rules, card}},
		{name: "no answer ends the site",
			pages:   map[string]page{card: {err: timeout}},
			outcome: OutcomeTimeout, reason: "headers", asked: []string{rules, card}},
		{name: "a refused redirect does not",
			pages:   map[string]page{card: {location: "https://elsewhere.example/"}},
			outcome: OutcomeRedirectRefused, reason: "off_site", asked: []string{rules, card, legacy}},
		{name: "a network failure of robots.txt ends the site",
			pages:   map[string]page{rules: {err: timeout}},
			outcome: OutcomeTimeout, reason: "headers", asked: []string{rules}},
		{name: "a name that does not resolve is asked nothing",
			dns:     &fetch.Error{Kind: fetch.DNSNotFound, Reason: "not_found"},
			outcome: OutcomeDNSNotFound, reason: "not_found"},
		{name: "robots.txt 503 closes the site",
			pages:   map[string]page{rules: {status: 503}},
			outcome: OutcomeRobotsUnreachable, reason: "status_503", asked: []string{rules}},
		{name: "robots.txt 429 closes the site",
			pages:   map[string]page{rules: {status: 429}},
			outcome: OutcomeRobotsUnreachable, reason: "status_429", asked: []string{rules}},
		{name: "robots.txt 403 leaves it open",
			pages:   map[string]page{rules: {status: 403}},
			outcome: OutcomeNotFound, asked: []string{rules, card, legacy}},
		{name: "robots.txt 403 closes it under strict", strict: true,
			pages:   map[string]page{rules: {status: 403}},
			outcome: OutcomeRobotsUnreadable, reason: "status_403", asked: []string{rules}},
		{name: "a refused redirect of robots.txt closes the site",
			pages:   map[string]page{rules: {location: "https://elsewhere.example/robots.txt"}},
			outcome: OutcomeRobotsUnreadable, reason: "off_site", asked: []string{rules}},
		{name: "a challenge in place of robots.txt closes the site",
			pages:   map[string]page{rules: {status: 403, header: http.Header{"Cf-Mitigated": {"challenge"}}}},
			outcome: OutcomeRobotsUnreadable, reason: "challenge_cloudflare", asked: []string{rules}},
		{name: "both paths disallowed by a group that names the bot",
			pages:   map[string]page{rules: {status: 200, body: "User-agent: samplebot\nDisallow: /\n"}},
			outcome: OutcomeRobotsDisallowed, reason: "named_group", asked: []string{rules}},
		{name: "one path disallowed, the other asked",
			pages:   map[string]page{rules: {status: 200, body: "User-agent: *\nDisallow: " + CardPath + "\n"}},
			outcome: OutcomeNotFound, asked: []string{rules, legacy}},
		{name: "a challenge in place of a card is not 'no card'",
			pages: map[string]page{
				card:   {status: 403, header: http.Header{"Cf-Mitigated": {"challenge"}}},
				legacy: {status: 404}},
			outcome: OutcomeChallenged, reason: "cloudflare", asked: []string{rules, card, legacy}},
		{name: "a server that refuses the A2A version",
			pages:   map[string]page{card: {status: 400, body: `{"code":-32009,"message":"version"}`}},
			outcome: OutcomeVersionRejected, asked: []string{rules, card, legacy}},
		{name: "a server that says so in an envelope",
			pages:   map[string]page{card: {status: 400, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32009,"message":"version"}}`}},
			outcome: OutcomeVersionRejected, asked: []string{rules, card, legacy}},
		{name: "a server that says so beside an error in words",
			pages:   map[string]page{card: {status: 400, body: `{"error":"version","code":-32009}`}},
			outcome: OutcomeVersionRejected, asked: []string{rules, card, legacy}},
		{name: "a 400 for another reason",
			pages:   map[string]page{card: {status: 400, body: `{"error":{"code":400}}`}},
			outcome: OutcomeClientError, asked: []string{rules, card, legacy}},
		{name: "a redirect to a URL already asked uses its answer (P3)",
			pages:   map[string]page{card: {location: "/robots.txt"}, legacy: {location: CardPath}},
			outcome: OutcomeNotFound, asked: []string{rules, card, legacy}},

		// P1: origins and redirects.
		{name: "a redirect's target needs its own origin's robots.txt",
			pages: map[string]page{
				card:          {location: "https://www.a.example" + CardPath},
				"www." + card: {status: 200, body: cardBody}},
			outcome: OutcomeCard, reason: "R1", asked: []string{rules, card, "www." + rules, "www." + card}},
		{name: "one robots.txt serves both origins when it redirects to the other's",
			pages: map[string]page{
				rules:          {location: "https://www.a.example/robots.txt"},
				"www." + rules: {status: 200, body: "User-agent: *\nDisallow: /private\n"},
				card:           {location: "https://www.a.example" + CardPath},
				"www." + card:  {status: 200, body: cardBody}},
			outcome: OutcomeCard, reason: "R1", asked: []string{rules, "www." + rules, card, "www." + card}},
		{name: "the target's origin disallows",
			pages: map[string]page{
				card:           {location: "https://www.a.example" + CardPath},
				"www." + rules: {status: 200, body: "User-agent: *\nDisallow: /\n"}},
			outcome: OutcomeRedirectRefused, reason: "robots_disallowed", asked: []string{rules, card, "www." + rules, legacy}},
		{name: "the target's origin closes the whole site",
			pages: map[string]page{
				card:           {location: "https://www.a.example" + CardPath},
				"www." + rules: {status: 503}},
			outcome: OutcomeRobotsUnreachable, reason: "status_503", asked: []string{rules, card, "www." + rules}},
		{name: "robots.txt moved inside its origin is followed without rules",
			pages: map[string]page{
				rules:                         {location: "/static/robots.txt"},
				"a.example/static/robots.txt": {status: 200, body: "User-agent: *\nDisallow: /\n"}},
			outcome: OutcomeRobotsDisallowed, reason: "star_group", asked: []string{rules, "a.example/static/robots.txt"}},
		{name: "robots.txt moved to another path of the sister origin asks that origin's first",
			pages: map[string]page{
				rules:                     {location: "https://www.a.example/rules.txt"},
				"www." + rules:            {status: 200, body: "User-agent: *\nAllow: /\n"},
				"www.a.example/rules.txt": {status: 200, body: "User-agent: *\nDisallow: /\n"}},
			outcome: OutcomeRobotsDisallowed, reason: "star_group", asked: []string{rules, "www." + rules, "www.a.example/rules.txt"}},
		{name: "robots.txt moved on inside the sister origin is followed without rules",
			pages: map[string]page{
				rules:                     {location: "https://www.a.example/robots.txt"},
				"www." + rules:            {location: "/rules.txt"},
				"www.a.example/rules.txt": {status: 200, body: "User-agent: *\nDisallow: /\n"}},
			outcome: OutcomeRobotsDisallowed, reason: "star_group", asked: []string{rules, "www." + rules, "www.a.example/rules.txt"}},
		{name: "robots.txt that comes back to another path of the first origin closes the site",
			pages: map[string]page{
				rules:          {location: "https://www.a.example/robots.txt"},
				"www." + rules: {location: "https://a.example/rules.txt"}},
			outcome: OutcomeRobotsUnreadable, reason: "robots_loop", asked: []string{rules, "www." + rules}},
		{name: "two robots.txt that wait for each other close the site",
			pages: map[string]page{
				rules:          {location: "https://www.a.example/x"},
				"www." + rules: {location: "https://a.example/y"}},
			outcome: OutcomeRobotsUnreadable, reason: "robots_loop", asked: []string{rules, "www." + rules}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &scripted{pages: c.pages, dns: map[string]*fetch.Error{"a.example": c.dns}}
			r, asked := crawlOne(t, w, func(cfg *Config) {
				if c.strict {
					cfg.RobotsMode = robots.Strict
				}
			})
			if r.Outcome != c.outcome || r.Reason != c.reason {
				t.Errorf("outcome %s (%q), want %s (%q)", r.Outcome, r.Reason, c.outcome, c.reason)
			}
			if (r.Card != nil) != (c.outcome == OutcomeCard) {
				t.Errorf("outcome %s with card %v", r.Outcome, r.Card)
			}
			if diff := cmp.Diff(c.asked, asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

// P13: one result for each entry, whatever it is.
func TestEveryEntryHasOneResult(t *testing.T) {
	defer goleak.VerifyNone(t)
	w := &scripted{dns: map[string]*fetch.Error{"gone.example": {Kind: fetch.DNSNotFound}}}
	entries := []Site{
		{1, "a.example", ""}, {2, "www.a.example", ""}, {3, "a.example", ""},
		{4, "b_.example", "underscore"}, {5, "out.example", ""}, {6, "gone.example", ""}, {7, "www.b.example", ""}, {8, "b.example", ""},
		// A domain that is called www is a site of its own, and has a www form.
		{9, "www.test", ""}, {10, "www.www.test", ""},
	}
	k := newKept()
	err := Run(context.Background(), Config{
		Sites: func(yield func(Site, error) bool) {
			for _, s := range entries {
				if !yield(s, nil) {
					return
				}
			}
		},
		Open: w.open, Sink: k, Slots: 2, Tokens: []string{"SampleBot"}, OptOut: optOut{"out.example": true},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[int64]Outcome{}
	for rank, r := range k.results {
		got[rank] = r.Outcome
	}
	want := map[int64]Outcome{1: OutcomeNotFound, 2: OutcomeDuplicate, 3: OutcomeDuplicate, 4: OutcomeInvalidName,
		5: OutcomeOptedOut, 6: OutcomeDNSNotFound, 7: OutcomeNotFound, 8: OutcomeDuplicate,
		9: OutcomeNotFound, 10: OutcomeDuplicate}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if k.begun[5] || k.begun[6] {
		t.Error("a site that is never asked was begun")
	}
}

type optOut map[string]bool

func (o optOut) Covers(host string) bool { return o[host] }

// P11: an opt-out that comes in mid-visit is honoured from the next request.
func TestOptOutBetweenRequests(t *testing.T) {
	out := optOut{}
	w := &scripted{}
	w.onAsk = func(url string) {
		if url == rules {
			out["a.example"] = true
		}
	}
	r, asked := crawlOne(t, w, func(c *Config) { c.OptOut = out })
	if r.Outcome != OutcomeOptedOut {
		t.Errorf("outcome %s, want opted_out", r.Outcome)
	}
	if diff := cmp.Diff([]string{rules}, asked); diff != "" {
		t.Error(diff)
	}
}

// A stop admits no further site and loses no open one.
func TestStopDrains(t *testing.T) {
	defer goleak.VerifyNone(t)
	stop := make(chan struct{})
	w := &scripted{}
	w.onAsk = func(url string) {
		if url == "s3.example"+RobotsPath {
			close(stop)
		}
	}
	var names []string
	for i := range 5000 {
		names = append(names, fmt.Sprintf("s%d.example", i))
	}
	k := newKept()
	if err := Run(context.Background(), Config{Sites: list(names...), Open: w.open, Sink: k, Slots: 2, Stop: stop}); err != nil {
		t.Fatal(err)
	}
	if len(k.results) >= len(names) {
		t.Error("the whole list was crawled after the stop")
	}
	for rank := range k.begun {
		if _, ok := k.results[rank]; !ok {
			t.Errorf("site %d was begun and has no result", rank)
		}
	}
}

// The first site is asked while the list is still being read: this one has no
// end.
func TestTheFirstRequestDoesNotWaitForTheListsEnd(t *testing.T) {
	defer goleak.VerifyNone(t)
	stop := make(chan struct{})
	w := &scripted{}
	w.onAsk = func(url string) {
		if url == "s1.example"+RobotsPath {
			close(stop)
		}
	}
	endless := func(yield func(Site, error) bool) {
		for rank := int64(1); yield(Site{Rank: rank, Domain: fmt.Sprintf("s%d.example", rank)}, nil); rank++ {
		}
	}
	if err := Run(t.Context(), Config{Sites: endless, Open: w.open, Sink: newKept(), Slots: 2, Stop: stop}); err != nil {
		t.Fatal(err)
	}
}

// What a site costs does not depend on how many there are: ten times the list
// takes ten times the allocations.
func TestTheWorkForASiteDoesNotGrowWithTheList(t *testing.T) {
	perSite := func(sites int) float64 {
		names := make([]string, sites)
		for i := range names {
			names[i] = fmt.Sprintf("s%d.example", i)
		}
		w := &scripted{}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := Run(t.Context(), Config{Sites: list(names...), Open: w.open, Sink: newKept(), Slots: 4}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs-before.Mallocs) / float64(sites)
	}
	few, many := perSite(500), perSite(5_000)
	if many > 1.25*few || few > 1.25*many {
		t.Errorf("%.1f allocations a site in a list of 500, %.1f in one of 5,000", few, many)
	}
}

// A local fault is no outcome of a site: it stops the crawl, and what was
// open besides has its result.
func TestLocalFaultStops(t *testing.T) {
	defer goleak.VerifyNone(t)
	w := &scripted{pages: map[string]page{"s3.example" + RobotsPath: {err: &fetch.Error{Kind: fetch.Local, Reason: "too_many_files"}}}}
	var names []string
	for i := range 5000 {
		names = append(names, fmt.Sprintf("s%d.example", i))
	}
	k := newKept()
	err := Run(context.Background(), Config{Sites: list(names...), Open: w.open, Sink: k, Slots: 2})
	var e *fetch.Error
	if !errors.As(err, &e) || e.Kind != fetch.Local {
		t.Fatalf("Run = %v, want the local fault", err)
	}
	if _, ok := k.results[4]; ok {
		t.Error("the site that met the fault has a result")
	}
	for rank := range k.begun {
		if _, ok := k.results[rank]; !ok && rank != 4 {
			t.Errorf("site %d was open and has no result", rank)
		}
	}
}

// Every site may meet the fault: the crawl still ends.
func TestLocalFaultEverywhere(t *testing.T) {
	defer goleak.VerifyNone(t)
	w := &scripted{pages: map[string]page{}}
	var names []string
	for i := range 1000 {
		name := fmt.Sprintf("s%d.example", i)
		names = append(names, name)
		w.pages[name+RobotsPath] = page{err: &fetch.Error{Kind: fetch.Local}}
	}
	if err := Run(context.Background(), Config{Sites: list(names...), Open: w.open, Sink: newKept(), Slots: 1}); err == nil {
		t.Fatal("Run = nil, want the local fault")
	}
}

// A sink that fails ends the crawl with its error.
func TestSinkFailureEnds(t *testing.T) {
	defer goleak.VerifyNone(t)
	full := errors.New("disk full")
	k := newKept()
	k.fail = func(r Result) error {
		if r.Site.Rank == 7 {
			return full
		}
		return nil
	}
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("s%d.example", i))
	}
	err := Run(context.Background(), Config{Sites: list(names...), Open: (&scripted{}).open, Sink: k, Slots: 3})
	if !errors.Is(err, full) {
		t.Fatalf("Run = %v, want %v", err, full)
	}
}

// What an earlier run ended is not asked again, yet its name is still seen.
func TestSkip(t *testing.T) {
	defer goleak.VerifyNone(t)
	w := &scripted{}
	k := newKept()
	err := Run(context.Background(), Config{
		Sites: list("a.example", "www.a.example", "b.example"), Open: w.open, Sink: k, Slots: 1,
		Skip: func(rank int64) bool { return rank == 1 },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := k.results[1]; ok || k.results[2].Outcome != OutcomeDuplicate || k.results[3].Outcome != OutcomeNotFound {
		t.Errorf("results %v", k.results)
	}
}
