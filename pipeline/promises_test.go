package pipeline_test

import (
	"cmp"
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"agentcensus/pipeline"
	"agentcensus/pipeline/simweb"
	"agentcensus/sink"
	"agentcensus/sources"
)

// shortTimeout stands in for the five seconds of P7, so that a web with slow
// sites is crawled in a moment. Nothing that is answered at once comes near it.
const shortTimeout = 300 * time.Millisecond

// fewWebs are drawn when nobody asked for a number with -rapid.checks.
const fewWebs = 25

// Whatever a small web does, and whenever the crawl is killed or stopped, the
// promises are kept: P1 to P7, P9, P11 and P12 in the web's own log over all
// runs, P8, P10 and P13 to P15 in what was handed over and what is on the disk.
// Each entry ends as it would have without the deaths, or as interrupted.
func TestPromisesHoldOnAnyWeb(t *testing.T) {
	defer goleak.VerifyNone(t)
	webs, broken := 0, false
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	rapid.Check(t, func(t *rapid.T) {
		if webs++; webs > fewWebs && !asked && !broken {
			return
		}
		drawn := drawWeb(t)
		deaths := rapid.SliceOfN(rapid.Custom(drawDeath), 0, 3).Draw(t, "deaths")
		faults := crawlToTheEnd(t, drawn, deaths, rapid.IntRange(0, 3).Draw(t, "writing") == 3)
		for _, f := range faults {
			broken = true
			t.Errorf("%s", f)
		}
		if len(faults) > 0 {
			t.Logf("deaths %+v, %d in flight, opted out %v, list %v\n%s", deaths, drawn.inFlight, drawn.optedOut, drawn.list, written(t, drawn.scenario))
		}
	})
}

func drawDeath(t *rapid.T) death {
	return death{after: rapid.IntRange(0, 80).Draw(t, "after"), signal: rapid.IntRange(0, 3).Draw(t, "signal") == 3}
}

// written is a scenario as a file of testdata, for one that broke a promise.
func written(t tester, s *simweb.Scenario) string {
	b, err := yaml.MarshalWithOptions(s, yaml.OmitEmpty())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// tester is what is needed of testing.T and rapid.T.
type tester interface {
	Context() context.Context
	Error(...any)
	Fatal(...any)
}

// crawlToTheEnd crawls a drawn web and lists the broken promises.
func crawlToTheEnd(t tester, drawn *randomWeb, deaths []death, killWriting bool) []string {
	dir, err := os.MkdirTemp("", "promises")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}()
	signer, verify, err := identity()
	if err != nil {
		t.Fatal(err)
	}
	web, err := simweb.Start(t.Context(), simweb.Config{Scenario: drawn.scenario, Verify: verify})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := web.Close(); err != nil {
			t.Error(err)
		}
	}()
	optOut := filepath.Join(dir, "opt-out.txt")
	if err := os.WriteFile(optOut, []byte(strings.Join(drawn.optedOut, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := sources.LoadOptOut(optOut)
	if err != nil {
		t.Fatal(err)
	}
	ends, asks := drawn.expect(web)
	l := &lives{
		web: web, list: drawn.list, optOut: out, inFlight: drawn.inFlight, timeout: shortTimeout, signer: signer,
		out: filepath.Join(dir, "out"), scratch: dir, killWriting: killWriting,
	}
	for i, s := range drawn.list {
		if ends[i].outcome != string(pipeline.OutcomeCard) {
			l.private = append(l.private, s.Domain)
		}
	}
	l.private = slices.DeleteFunc(l.private, func(name string) bool { // another entry may publish for the name
		return slices.ContainsFunc(drawn.list, func(s pipeline.Site) bool {
			return ends[s.Rank-1].outcome == string(pipeline.OutcomeCard) && strings.TrimPrefix(s.Domain, "www.") == strings.TrimPrefix(name, "www.")
		})
	})
	if err := l.run(t.Context(), deaths); err != nil {
		t.Fatal(err)
	}
	if err := l.checkTables(); err != nil {
		t.Fatal(err)
	}
	for _, v := range web.Check(simweb.Limits{InFlight: drawn.inFlight, Timeout: shortTimeout, Slack: scheduling, Signed: true, OptedOut: drawn.optedOut}) {
		l.fault("%v", v)
	}
	l.checkEnds(drawn, ends, asks)
	return l.faults
}

// checkEnds compares every entry with what it comes to without deaths, and the
// requests of a graph with those that the model makes.
func (l *lives) checkEnds(drawn *randomWeb, ends []verdict, asks [][]string) {
	log := newSiteLog(l.web.Log())
	for i, s := range drawn.list {
		site := strings.TrimPrefix(s.Domain, "www.")
		want, got := ends[i], l.final[s.Rank]
		asked := log.requests[site]
		whole := got == want
		switch {
		case whole:
		case got == verdict{"interrupted", "crash"} && l.resumed > 0:
		case drawn.touchy[site] && (got.outcome == "connection_lost" || got.outcome == "not_found"):
			// The next request was sent before the end of the connection was
			// seen, and not again; not_found is what came before the end.
		case got.outcome == "timeout" && log.longest[site] > shortTimeout/2:
			// A machine too busy: the web saw the time run out.
		default:
			l.fault("%d %s ended as %v, want %v; asked %v", s.Rank, s.Domain, got, want, asked)
		}
		if asks[i] == nil {
			continue
		}
		if n := min(len(asked), len(asks[i])); !slices.Equal(asked, asks[i][:n]) || whole && !drawn.touchy[site] && len(asked) < len(asks[i]) {
			l.fault("%d %s, %v: asked %v, want %v", s.Rank, s.Domain, got, asked, asks[i])
		}
	}
}

// siteLog is what the web's log says of each site.
type siteLog struct {
	requests map[string][]string // in their order, as host and path
	longest  map[string]time.Duration
}

func newSiteLog(log []simweb.Entry) siteLog {
	s := siteLog{map[string][]string{}, map[string]time.Duration{}}
	slices.SortStableFunc(log, func(a, b simweb.Entry) int { return cmp.Or(a.Start.Compare(b.Start), a.End.Compare(b.End)) })
	for _, e := range log {
		site := strings.TrimPrefix(e.Host, "www.")
		switch e.Kind {
		case simweb.KindRequest:
			s.requests[site] = append(s.requests[site], strings.TrimPrefix(e.Origin, "https://")+e.Path)
			fallthrough
		case simweb.KindDial, simweb.KindHandshake:
			s.longest[site] = max(s.longest[site], e.End.Sub(e.Start))
		}
	}
	return s
}

// checkTables reads what a finished crawl left: each table once, adding up to
// the list (P13), with rows of publishers alone (P10), and no other file (P14).
func (l *lives) checkTables() error {
	left := []string{}
	for path, err := range l.files() {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, l.out+string(filepath.Separator))
		left = append(left, name)
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		l.namesNone(name, raw)
	}
	slices.Sort(left)
	date := filepath.Base(filepath.Dir(l.summary.Path))
	want := []string{".state/lock"}
	for _, table := range []string{"cards", "crawls", "fetch_totals", "site_totals"} {
		want = append(want, filepath.Join("data", table, "kind=adhoc", date, table+".parquet"))
	}
	if want = append(want, "questions.sql", "views.sql"); !slices.Equal(left, want) {
		l.fault("P14: the crawl left %v, want %v", left, want)
		return nil
	}

	sites, publishers := map[verdict]int64{}, map[int64]string{}
	for rank, v := range l.final {
		sites[v]++
		if v.outcome == string(pipeline.OutcomeCard) {
			publishers[rank] = l.list[rank-1].Domain
		}
	}
	if len(l.final) != len(l.list) {
		l.fault("P13: %d of %d entries ended", len(l.final), len(l.list))
	}
	for row, err := range sink.ReadTable[sink.SiteTotal](filepath.Join(l.out, want[4])) {
		if err != nil {
			return err
		}
		v := verdict{row.Outcome, row.Reason}
		if sites[v] -= row.Sites; sites[v] == 0 {
			delete(sites, v)
		}
	}
	if len(sites) > 0 {
		l.fault("P13: the totals differ from the entries by %v", sites)
	}
	for row, err := range sink.ReadTable[sink.Card](filepath.Join(l.out, want[1])) {
		if err != nil {
			return err
		}
		if publishers[row.Rank] != row.Site {
			l.fault("P10: a row of %d %s, which ended as %v", row.Rank, row.Site, l.final[row.Rank])
		}
		delete(publishers, row.Rank)
	}
	if len(publishers) > 0 {
		l.fault("P15: the rows of %v are lost", publishers)
	}
	if n := l.summary.Crawl.Interruptions; n != l.resumed {
		l.fault("the crawl went on %d times and says %d", l.resumed, n)
	}
	return nil
}
