package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"agentcensus/pipeline/simweb"
	"agentcensus/sink"
)

// years is an output directory over which months and weeks go, and the
// simulated web that it is of.
type years struct {
	*testing.T
	out, names, optOut string
	web                *simweb.Web
	log                bytes.Buffer
}

// entriesOfYears are enough for publishers of every sort.
const entriesOfYears = 130

func newYears(t *testing.T) *years {
	t.Helper()
	w, err := simweb.Start(t.Context(), simweb.Config{Seed: 9, Profile: simweb.Flat, CardShare: 0.8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	dir := t.TempDir()
	y := &years{T: t, out: filepath.Join(dir, "out"), names: filepath.Join(dir, "names.csv"), optOut: filepath.Join(dir, "opt-out.txt"), web: w}
	y.must(writeNames(w, entriesOfYears, y.names))
	y.must(os.WriteFile(y.optOut, nil, 0o644))
	return y
}

func (y *years) must(err error) {
	y.Helper()
	if err != nil {
		y.Fatal(err)
	}
}

// runner is a runner on the years' web at a day and an epoch of it.
func (y *years) runner(f runFlags, kind sink.Kind, day string, epoch int) *runner {
	y.Helper()
	r, err := newRunner(streams{out: io.Discard, err: &y.log}, f, kind, true)
	y.must(err)
	now, err := time.Parse(time.DateOnly, day)
	y.must(err)
	r.now = func() time.Time { return now.Add(3 * time.Hour) }
	if r.optOut, err = loadOptOut(y.optOut, r.log); err != nil {
		y.Fatal(err)
	}
	y.web.SetEpoch(epoch)
	r.simulated = y.web
	r.web = web{dial: y.web.Dial, roots: y.web.Roots(), resolvers: y.web.Resolvers()}
	return r
}

// close ends a runner, but not the web, which is there for all years.
func (y *years) close(r *runner) {
	r.simulated = nil
	r.close()
}

// month crawls the list as `crawl --kind monthly` does.
func (y *years) month(day string, epoch int) {
	y.Helper()
	f := crawlFlags{runFlags: runFlags{out: y.out}, kind: "monthly", simulated: true, list: y.names}
	r := y.runner(f.runFlags, sink.Monthly, day, epoch)
	defer y.close(r)
	l, err := f.open(y.Context(), r, nil)
	y.must(err)
	y.must(r.run(y.Context(), l, f.settings(r)))
}

// week is what `recheck` does; arrange may change its runner first.
func (y *years) week(day string, epoch int, arrange func(*runner)) error {
	y.Helper()
	f := recheckFlags{runFlags: runFlags{out: y.out}, simulated: true}
	r := y.runner(f.runFlags, sink.Weekly, day, epoch)
	defer y.close(r)
	if arrange != nil {
		arrange(r)
	}
	return f.recheck(y.Context(), r)
}

// rows reads the table of one crawl.
func readCrawl[T sink.Row](y *years, kind sink.Kind, day string) []T {
	y.Helper()
	var all []T
	for row, err := range sink.ReadTable[T](sink.TablePath(y.out, sink.TableName[T](), string(kind), day)) {
		y.must(err)
		all = append(all, row)
	}
	return all
}

// known is the last time that a crawl could tell of a site's card.
type known struct {
	kind sink.Kind
	day  string
	fate simweb.Fate
}

// truth is what the tables must say of the sites of the years' web.
type truth struct {
	*years
	sites map[string]known
	list  []publisher
}

// afterMonth notes what a monthly crawl finds.
func (tr *truth) afterMonth(day string, epoch int) {
	tr.list = nil
	if tr.sites == nil {
		tr.sites = map[string]known{}
	}
	for rank, name := range tr.web.Names(entriesOfYears) {
		if f := tr.web.FateAt(epoch, rank, name); f.Card != nil {
			tr.sites[name] = known{sink.Monthly, day, f}
			tr.list = append(tr.list, publisher{rank, name})
		}
	}
}

// checks is the table checks of a weekly crawl.
func (tr *truth) checks(day string, epoch int) []sink.Check {
	var want []sink.Check
	for _, p := range tr.list {
		now := tr.web.FateAt(epoch, p.rank, p.site)
		row := tr.check(p, now)
		want = append(want, row)
		if row.CardGone != nil {
			tr.sites[p.site] = known{sink.Weekly, day, now}
		}
	}
	return want
}

// check is one row of it, made of two fates.
func (tr *truth) check(p publisher, now simweb.Fate) sink.Check {
	before := tr.sites[p.site]
	f := now.Fetches[len(now.Fetches)-1]
	row := sink.Check{Rank: p.rank, Site: p.site, Status: "down"}
	for _, first := range now.Fetches {
		if first.Path != simweb.RobotsPath && slices.Contains([]int{200, 401, 402, 403}, first.Status) {
			f, row.Status = first, "up"
			break
		}
	}
	row.HTTPCode, row.Error = new(int32(f.Status)), new(f.Outcome)
	if f.Reason != "" {
		row.Reasons = []string{f.Reason}
	}
	if f.Outcome == "card" {
		row.Error, row.Target = nil, new(now.Card.CardURL)
	}
	if now.Change == "down" {
		return row // a server that fails says nothing of the card behind it
	}
	if err := row.Previous(string(before.kind), before.day); err != nil {
		tr.Fatal(err)
	}
	was, is := before.fate.Card, now.Card
	row.CardAppeared, row.CardGone = new(was == nil && is != nil), new(was != nil && is == nil)
	if was != nil {
		row.AgentVersionBefore, row.A2AVersionBefore = new(was.Version), new(was.A2AVersion)
	}
	if is != nil {
		row.AgentVersionAfter, row.A2AVersionAfter = new(is.Version), new(is.A2AVersion)
	}
	if was == nil || is == nil {
		return row
	}
	row.BodyChanged = new(was.SHA256 != is.SHA256)
	onlySigned := now.Change == "signed" && was.Signatures != is.Signatures
	row.CanonicalChanged = new(*row.BodyChanged && !onlySigned)
	row.AgentVersionChanged, row.A2AVersionChanged = new(was.Version != is.Version), new(was.A2AVersion != is.A2AVersion)
	row.SkillsAdded, row.SkillsRemoved = lacking(is.SkillIDs, was.SkillIDs), lacking(was.SkillIDs, is.SkillIDs)
	row.SignatureAdded, row.SignatureRemoved = new(is.Signed && !was.Signed), new(was.Signed && !is.Signed)
	return row
}

// lacking is what of a is not in b.
func lacking(a, b []string) []string {
	return slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })))
}

// compareChecks compares rows; of a row without a card its URL is not compared.
func compareChecks(t *testing.T, what string, want, got []sink.Check) {
	t.Helper()
	for i, row := range got {
		if row.LatencyMS == nil || row.CheckedAt == nil || row.Target == nil || !strings.HasPrefix(*row.Target, "https://") {
			t.Errorf("%s: %s has no URL, time or latency: %+v", what, row.Site, row)
		}
		if got[i].Error != nil {
			got[i].Target = nil
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(sink.Check{}, "LatencyMS", "CheckedAt"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-truth +checks):\n%s", what, diff)
	}
}

// Months and weeks over a web that changes: every row of checks is as the web
// knows it to be, whichever crawl it is compared with.
func TestChecksAreTrue(t *testing.T) {
	tr := &truth{years: newYears(t)}
	seen := map[string]int{}
	week := func(day string, epoch int) {
		t.Helper()
		tr.web.Forget()
		tr.must(tr.week(day, epoch, nil))
		compareChecks(t, day, tr.checks(day, epoch), readCrawl[sink.Check](tr.years, sink.Weekly, day))
		for _, v := range tr.web.Check(simweb.Limits{Signed: true}) {
			t.Errorf("%s: promise broken: %v", day, v)
		}
		for _, row := range readCrawl[sink.Check](tr.years, sink.Weekly, day) {
			count(seen, row)
		}
		compareWeeklyTotals(t, tr, day, epoch)
	}
	tr.month("2026-11-02", 0)
	tr.afterMonth("2026-11-02", 0)
	week("2026-11-10", 1)
	week("2026-11-17", 2)
	tr.month("2026-12-01", 2)
	tr.afterMonth("2026-12-01", 2)
	week("2026-12-08", 3)
	for _, word := range []string{"up", "down", "gone", "body", "version", "skill added", "skill removed", "signed", "unchanged", "nobody knows", "after a week"} {
		if seen[word] == 0 {
			t.Errorf("no publisher of this web is %q: no test of it (%v)", word, seen)
		}
	}
}

// count notes what a row is an example of.
func count(seen map[string]int, row sink.Check) {
	is := func(b *bool) bool { return b != nil && *b }
	for word, holds := range map[string]bool{
		row.Status: true, "gone": is(row.CardGone), "body": is(row.BodyChanged) && !is(row.AgentVersionChanged), "version": is(row.AgentVersionChanged),
		"skill added": len(row.SkillsAdded) > 0, "skill removed": len(row.SkillsRemoved) > 0, "signed": is(row.SignatureAdded),
		"unchanged": row.BodyChanged != nil && !*row.BodyChanged, "nobody knows": row.CardGone == nil,
		"after a week": row.PreviousKind != nil && *row.PreviousKind == "weekly",
	} {
		if holds {
			seen[word]++
		}
	}
}

// compareWeeklyTotals: the totals are of the publishers, by their own ranks.
func compareWeeklyTotals(t *testing.T, tr *truth, day string, epoch int) {
	t.Helper()
	want := simweb.NewTruth()
	for _, p := range tr.list {
		want.Add(p.rank, tr.web.FateAt(epoch, p.rank, p.site))
	}
	got := map[simweb.SiteKey]int64{}
	for _, row := range readCrawl[sink.SiteTotal](tr.years, sink.Weekly, day) {
		got[simweb.SiteKey{From: row.RankFrom, To: row.RankTo, Outcome: row.Outcome, Reason: row.Reason}] = row.Sites
	}
	if diff := cmp.Diff(want.Sites(), got); diff != "" {
		t.Errorf("%s: site totals (-truth +crawl):\n%s", day, diff)
	}
	facts := map[int64]simweb.CardFacts{}
	for _, c := range readCrawl[sink.Card](tr.years, sink.Weekly, day) {
		facts[c.Rank] = factsOf(c)
	}
	if diff := cmp.Diff(want.Cards(), facts, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: cards (-truth +crawl):\n%s", day, diff)
	}
	row := readCrawl[sink.CrawlRow](tr.years, sink.Weekly, day)[0]
	if row.ListSource != "cards" || row.Entries != int64(len(tr.list)) || !strings.HasPrefix(day, row.ListID[:7]) {
		t.Errorf("%s: crawls says list %s %s of %d entries", day, row.ListSource, row.ListID, row.Entries)
	}
}

// canaryOf finds a host of the web, no entry of the list, that answers.
func (y *years) canaryOf() string {
	for i := range 1000 {
		name := fmt.Sprintf("canary-%d.example", i)
		if f := y.web.FateAt(0, 0, name); f.Outcome == "card" {
			return name
		}
	}
	y.Fatal("no host of this web can be a canary")
	return ""
}

// network is a dialer that is cut off after so many connections.
type network struct {
	web  *simweb.Web
	left atomic.Int64
}

func (n *network) dial(ctx context.Context, addr netip.AddrPort, host string) (net.Conn, error) {
	if n.left.Add(-1) < 0 {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	return n.web.Dial(ctx, addr, host)
}

// cutOff arranges a crawl with a canary whose network goes after so many
// connections.
func (y *years) cutOff(canary string, after int64) func(*runner) {
	n := &network{web: y.web}
	n.left.Store(after)
	return func(r *runner) {
		r.config.Canaries = []string{"https://" + canary + "/"}
		r.config.Limits.InFlight = new(4) // so that few sites are open when it goes
		r.web.dial = n.dial
	}
}

func exitStatus(err error) int {
	var exit *exitError
	switch {
	case err == nil:
		return exitComplete
	case errors.As(err, &exit):
		return exit.status
	}
	return exitFailed
}

// No canary answers before the crawl: nobody is asked, and the crawl waits.
func TestCanaryDownBefore(t *testing.T) {
	y := newYears(t)
	y.month("2026-11-02", 0)
	y.web.Forget()
	err := y.week("2026-11-10", 0, y.cutOff(y.canaryOf(), 0))
	if exitStatus(err) != exitResumable || !strings.Contains(err.Error(), "no canary answers") {
		t.Errorf("%v", err)
	}
	for _, e := range y.web.Log() {
		if !strings.HasPrefix(e.Host, "canary-") {
			t.Errorf("%s of %s", e.Kind, e.Host)
		}
	}
	y.must(y.week("2026-11-10", 0, nil))
	for _, row := range readCrawl[sink.Check](y, sink.Weekly, "2026-11-10") {
		if row.Status == "unknown" {
			t.Errorf("%+v", row)
		}
	}
}

// The network goes in the middle: the crawl stops, nobody is blamed, and it
// goes on later with whom it has not asked, with its own list, though a newer
// monthly crawl is complete by then.
func TestCanaryDownInTheMiddle(t *testing.T) {
	tr := &truth{years: newYears(t)}
	tr.month("2026-11-02", 0)
	tr.afterMonth("2026-11-02", 0)
	canary := tr.canaryOf()
	tr.web.Forget()
	err := tr.week("2026-11-10", 1, tr.cutOff(canary, 60))
	if exitStatus(err) != exitResumable || !strings.Contains(err.Error(), "no site is blamed") {
		t.Fatalf("%v", err)
	}
	violations := tr.web.Check(simweb.Limits{Signed: true})
	first := asked(tr.web.Log())

	tr.month("2026-12-01", 2)
	optedOut := tr.list[len(tr.list)-1].site
	if first[optedOut] {
		t.Fatalf("%s was asked before the network went: no test of an opt-out", optedOut)
	}
	tr.must(os.WriteFile(tr.optOut, []byte(optedOut+"\n"), 0o644))
	tr.web.Forget()
	tr.must(tr.week("2026-12-02", 1, func(r *runner) { r.config.Canaries = []string{"https://" + canary + "/"} }))
	second := asked(tr.web.Log())
	for host := range second {
		if first[host] && !strings.Contains(host, "canary-") || host == optedOut {
			t.Errorf("%s was asked once more", host)
		}
	}
	for _, v := range append(violations, tr.web.Check(simweb.Limits{Signed: true})...) {
		if !strings.Contains(v.Entry.Host, "canary-") { // the exception to P1 to P3
			t.Errorf("promise broken: %v", v)
		}
	}

	// In the table: the truth, or that the crawl was interrupted; and nobody of
	// whom the newer monthly crawl and this one found no card (P10).
	want := map[string]sink.Check{}
	for _, row := range tr.checks("2026-11-10", 1) {
		want[row.Site] = row
	}
	publishers := map[string]bool{}
	for _, c := range readCrawl[sink.Card](tr.years, sink.Monthly, "2026-12-01") {
		publishers[c.Site] = true
	}
	interrupted, omitted := 0, 0
	got := map[string]bool{}
	for _, row := range readCrawl[sink.Check](tr.years, sink.Weekly, "2026-11-10") {
		got[row.Site] = true
		if row.Error != nil && *row.Error == "interrupted" {
			interrupted++
			if row.Status != "unknown" || row.CardGone != nil {
				t.Errorf("interrupted: %+v", row)
			}
			continue
		}
		compareChecks(t, row.Site, []sink.Check{want[row.Site]}, []sink.Check{row})
	}
	for site, row := range want {
		// Of one that was interrupted this crawl does not know of a card either.
		switch mayMiss := site == optedOut || !publishers[site] && (row.A2AVersionAfter == nil || !second[site]); {
		case got[site] && row.A2AVersionAfter == nil && !publishers[site]:
			t.Errorf("%s has a row, but no crawl since found a card there", site)
		case !got[site] && !mayMiss:
			t.Errorf("%s has no row", site)
		case !got[site]:
			omitted++
		}
	}
	if got[optedOut] {
		t.Errorf("%s opted out and has a row", optedOut)
	}
	if interrupted < canaryAfter || omitted < 2 {
		t.Errorf("%d interrupted, %d omitted: no test of them", interrupted, omitted)
	}
	row := readCrawl[sink.CrawlRow](tr.years, sink.Weekly, "2026-11-10")[0]
	if row.ListID != "2026-11-02" || row.OptedOut != 1 || row.Interruptions != 1 || row.Sites != int64(len(tr.list)) {
		t.Errorf("crawls: %+v", row)
	}
}

// asked are the hosts of requests, without www.
func asked(log []simweb.Entry) map[string]bool {
	hosts := map[string]bool{}
	for _, e := range log {
		if e.Kind == simweb.KindRequest {
			hosts[strings.TrimPrefix(e.Host, "www.")] = true
		}
	}
	return hosts
}

// A canary that is a site of the list, in either form, or that has opted out is
// refused before anything is asked or written.
func TestCanaryThatMustNotBeAsked(t *testing.T) {
	y := newYears(t)
	y.month("2026-11-02", 0)
	listed := readCrawl[sink.Card](y, sink.Monthly, "2026-11-02")[0].Site
	y.must(os.WriteFile(y.optOut, []byte("example.org\n"), 0o644))
	y.web.Forget()
	for _, canary := range []string{listed, "www." + listed, "status.example.org"} {
		err := y.week("2026-11-10", 0, func(r *runner) { r.config.Canaries = []string{"https://" + canary + "/up"} })
		if exitStatus(err) != exitUsage {
			t.Errorf("canary %s: %v", canary, err)
		}
	}
	if log := y.web.Log(); len(log) > 0 {
		t.Errorf("asked: %v", slices.Sorted(maps.Keys(asked(log))))
	}
	if kinds, err := sink.UnfinishedKinds(y.out); err != nil || len(kinds) > 0 {
		t.Errorf("a crawl was begun: %v, %v", kinds, err)
	}
}

// A publisher that opted out before the crawl is not in its list.
func TestRecheckLeavesOutWhoOptedOut(t *testing.T) {
	y := newYears(t)
	y.month("2026-11-02", 0)
	cards := readCrawl[sink.Card](y, sink.Monthly, "2026-11-02")
	gone := cards[3].Site
	y.must(os.WriteFile(y.optOut, []byte(gone+"\n"), 0o644))
	y.web.Forget()
	y.must(y.week("2026-11-10", 0, nil))
	if asked(y.web.Log())[gone] {
		t.Errorf("%s was asked", gone)
	}
	for _, row := range readCrawl[sink.Check](y, sink.Weekly, "2026-11-10") {
		if row.Site == gone {
			t.Errorf("%s has a row", gone)
		}
	}
	if row := readCrawl[sink.CrawlRow](y, sink.Weekly, "2026-11-10")[0]; row.Entries != int64(len(cards)-1) {
		t.Errorf("%d entries of %d publishers", row.Entries, len(cards))
	}
}

// Cron's recheck may come before the first monthly crawl is complete: there is
// nothing to do, and nothing to be alarmed about.
func TestRecheckBeforeTheFirstMonthEnds(t *testing.T) {
	y := newYears(t)
	crawl, err := sink.OpenCrawl(t.Context(), sink.Options{
		Out: y.out, Kind: sink.Monthly, Now: time.Now, List: sink.ListInfo{Entries: 1}, Simulated: true,
	})
	if err := errors.Join(err, crawl.Close()); err != nil {
		t.Fatal(err)
	}
	status, stdout, errOut := command(t, "recheck", "--simulate", "--out", y.out)
	if status != exitComplete || !strings.Contains(stdout, "first monthly crawl is not complete") {
		t.Errorf("exit status %d: %s%s", status, stdout, errOut)
	}
}

// From the command line: without a monthly crawl there is nobody to ask; after
// one the recheck asks its web, once a week.
func TestRecheckCommand(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	status, _, errOut := command(t, "recheck", "--simulate", "--out", out)
	if status != exitUsage || !strings.Contains(errOut, "no complete monthly crawl") {
		t.Errorf("exit status %d: %s", status, errOut)
	}
	status, _, errOut = command(t, "crawl", "--simulate", "300", "--seed", "9", "--profile", "plain", "--kind", "monthly", "--out", out)
	if status != exitComplete {
		t.Fatalf("exit status %d: %s", status, errOut)
	}
	status, stdout, errOut := command(t, "recheck", "--simulate", "--epoch", "1", "--out", out)
	if status != exitComplete || !strings.Contains(errOut, "no canaries") || !strings.Contains(stdout, "The weekly crawl of a SIMULATED web") {
		t.Errorf("exit status %d: %s%s", status, stdout, errOut)
	}
	status, stdout, errOut = command(t, "recheck", "--simulate", "--epoch", "1", "--out", out)
	if status != exitComplete || !strings.Contains(stdout, "nothing to do") {
		t.Errorf("exit status %d: %s%s", status, stdout, errOut)
	}
	var told struct {
		NothingToDo string `json:"nothing_to_do"`
	}
	status, stdout, errOut = command(t, "recheck", "--simulate", "--epoch", "1", "--out", out, "--json")
	if err := json.Unmarshal([]byte(stdout), &told); status != exitComplete || err != nil || !strings.Contains(told.NothingToDo, "is complete") {
		t.Errorf("exit status %d, %v: %s%s", status, err, stdout, errOut)
	}
}
