package main

import (
	"context"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"agentcensus/pipeline/simweb"
	"agentcensus/sink"
)

// simulation is a crawl of a simulated web whose log and truth can be read.
type simulation struct {
	out   string
	web   *simweb.Web
	truth *simweb.Truth
}

// simulate crawls n names of a simulated web as the crawl command does, list
// file and Parquet included.
func simulate(t *testing.T, c simweb.Config, n int) *simulation {
	t.Helper()
	dir := t.TempDir()
	f := crawlFlags{runFlags: runFlags{out: filepath.Join(dir, "out")}, kind: "adhoc", simulated: true, simulate: int64(n), list: filepath.Join(dir, "names.csv")}
	kind, err := f.check()
	if err != nil {
		t.Fatal(err)
	}
	s := streams{out: io.Discard, err: io.Discard}
	r, err := newRunner(s, f.runFlags, kind, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	if err := r.simulate(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := writeNames(r.simulated, n, f.list); err != nil {
		t.Fatal(err)
	}
	l, err := f.open(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.run(context.Background(), l, f.settings(r)); err != nil {
		t.Fatal(err)
	}
	sim := &simulation{out: f.out, web: r.simulated, truth: simweb.NewTruth()}
	for rank, name := range r.simulated.Names(n) {
		sim.truth.Add(rank, r.simulated.Fate(rank, name))
	}
	return sim
}

// rows reads the one file of a table.
func rows[T sink.Row](t *testing.T, out string) []T {
	t.Helper()
	files, err := sink.Files(out, sink.TableName[T]())
	if err != nil || len(files) != 1 {
		t.Fatalf("files of %s: %v, %v", sink.TableName[T](), files, err)
	}
	var all []T
	for row, err := range sink.ReadTable[T](files[0].Path) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	return all
}

// A crawl of 5,000 simulated sites equals the truth: every total, every card
// fact; and the web's log shows every promise kept and every request signed.
func TestSimulatedCrawlIsTrue(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the web is closed
	const names = 5000
	sim := simulate(t, simweb.Config{Seed: 11, Profile: simweb.Flat, Log: simweb.LogMemory}, names)

	got := map[simweb.SiteKey]int64{}
	var sum int64
	for _, row := range rows[sink.SiteTotal](t, sim.out) {
		got[simweb.SiteKey{From: row.RankFrom, To: row.RankTo, Outcome: row.Outcome, Reason: row.Reason}] = row.Sites
		sum += row.Sites
	}
	if diff := cmp.Diff(sim.truth.Sites(), got); diff != "" {
		t.Errorf("site totals (-truth +crawl):\n%s", diff)
	}
	if sum != names {
		t.Errorf("the totals add up to %d, the list has %d entries (P13)", sum, names)
	}
	compareFetches(t, sim)
	compareCards(t, sim)

	row := rows[sink.CrawlRow](t, sim.out)
	if len(row) != 1 || row[0].Entries != names || row[0].Sites != names || !row[0].Simulated || row[0].Cards != int64(len(sim.truth.Cards())) {
		t.Errorf("crawls: %+v", row)
	}
	for _, v := range sim.web.Check(simweb.Limits{Signed: true}) {
		t.Errorf("promise broken: %v", v)
	}
	checkSignatures(t, sim.web.Log())
}

func compareFetches(t *testing.T, sim *simulation) {
	t.Helper()
	want, got := sim.truth.Fetches(), map[simweb.FetchKey]simweb.FetchSum{}
	for _, row := range rows[sink.FetchTotal](t, sim.out) {
		k := simweb.FetchKey{From: row.RankFrom, To: row.RankTo, Path: row.Path, Outcome: row.Outcome, Reason: row.Reason}
		if row.HTTPStatus != nil {
			k.Status = int(*row.HTTPStatus)
		}
		sum := simweb.FetchSum{Fetches: row.Fetches, Requests: row.Requests, BodyBytes: row.BodyBytes}
		if want[k].BodyBytes == simweb.Unsure {
			sum.BodyBytes = simweb.Unsure
		}
		got[k] = sum
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fetch totals (-truth +crawl):\n%s", diff)
	}
}

func compareCards(t *testing.T, sim *simulation) {
	t.Helper()
	want, got := sim.truth.Cards(), map[int64]simweb.CardFacts{}
	for _, c := range rows[sink.Card](t, sim.out) {
		got[c.Rank] = factsOf(c)
	}
	if len(want) < 50 {
		t.Errorf("only %d cards in this web: no test of their facts", len(want))
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("cards (-truth +crawl):\n%s", diff)
	}
}

// factsOf are the facts of a row in the words of the simulated web.
func factsOf(c sink.Card) simweb.CardFacts {
	f := simweb.CardFacts{
		Rule: c.Rule, Name: text(c.Name), Description: text(c.Description), Version: text(c.AgentVersion),
		Provider: text(c.ProviderOrganization), A2AVersion: c.A2AVersion, Source: c.VersionSource, Shape: c.CardShape,
		SchemeTypes: slices.Sorted(slices.Values(c.SchemeTypes)),
		Streaming:   c.Streaming, PushNotifications: c.PushNotifications,
		StateTransitionHistory: c.StateTransitionHistory, ExtendedCard: c.ExtendedCard,
		Signed: c.Signed, Signatures: int(c.SignaturesCount),
		Path: c.Path, CardURL: c.CardURL, ContentType: text(c.ContentType), CacheControl: text(c.CacheControl), ETag: text(c.ETag),
		BodyBytes: c.BodyBytes, SHA256: c.BodySHA256,
	}
	for _, i := range c.Interfaces {
		f.Interfaces = append(f.Interfaces, simweb.InterfaceFacts{URL: i.URL, Binding: i.Binding, Version: text(i.Version)})
	}
	for _, s := range c.Skills {
		f.SkillIDs = append(f.SkillIDs, text(s.ID))
	}
	return f
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

var createdParam = regexp.MustCompile(`;created=([0-9]+);`)

// checkSignatures checks that every request in the log verified, and was signed
// just before it was sent: not ahead, and less than two seconds ago.
func checkSignatures(t *testing.T, log []simweb.Entry) {
	t.Helper()
	requests := 0
	for _, e := range log {
		if e.Kind != simweb.KindRequest {
			continue
		}
		requests++
		if e.Signature != "ok" {
			t.Errorf("%s%s: signature %q", e.Origin, e.Path, e.Signature)
		}
		m := createdParam.FindStringSubmatch(e.Header.Get("Signature-Input"))
		if m == nil {
			t.Errorf("%s%s: Signature-Input %q", e.Origin, e.Path, e.Header.Get("Signature-Input"))
			continue
		}
		created, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			t.Error(err)
		}
		if age := e.End.Sub(time.Unix(created, 0)); age < 0 {
			t.Errorf("%s%s: signed %v ahead", e.Origin, e.Path, -age)
		} else if received := e.Start.Sub(time.Unix(created, 0)); received > 2*time.Second {
			t.Errorf("%s%s: signed %v before it was received", e.Origin, e.Path, received)
		}
	}
	if requests == 0 {
		t.Error("no request in the log")
	}
}
