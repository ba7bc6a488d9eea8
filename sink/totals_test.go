package sink

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRankRanges(t *testing.T) {
	for _, test := range []struct{ rank, from, to int64 }{
		{1, 1, 100}, {100, 1, 100}, {101, 101, 500}, {500, 101, 500}, {501, 501, 1000}, {1000, 501, 1000},
		{1001, 1001, 5000}, {5001, 5001, 10_000}, {50_000, 10_001, 50_000}, {50_001, 50_001, 100_000},
		{500_000, 100_001, 500_000}, {1_000_000, 500_001, 1_000_000}, {1_000_001, 1_000_001, 5_000_000},
		{7_000_000, 5_000_001, 10_000_000}, {math.MaxInt64, 5_000_000_000_000_000_001, math.MaxInt64},
		{0, 0, 0}, {-5, 0, 0},
	} {
		if from, to := RankRange(test.rank); from != test.from || to != test.to {
			t.Errorf("rank %d is in %d to %d, want %d to %d", test.rank, from, to, test.from, test.to)
		}
	}
}

func TestRankRangesLeaveNoGap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.Int64Range(1, math.MaxInt64).Draw(t, "rank")
		from, to := RankRange(rank)
		if rank < from || rank > to {
			t.Fatalf("rank %d is outside %d to %d", rank, from, to)
		}
		if again, _ := RankRange(from); again != from {
			t.Fatalf("%d, the first of its range, is in the range from %d", from, again)
		}
		if to < math.MaxInt64 {
			if next, _ := RankRange(to + 1); next != to+1 {
				t.Fatalf("after %d comes the range from %d", to, next)
			}
		}
	})
}

func drawFetch(t *rapid.T) Fetch {
	return Fetch{
		Path:       rapid.SampledFrom([]string{"/robots.txt", "/.well-known/agent-card.json", "/.well-known/agent.json"}).Draw(t, "path"),
		Outcome:    rapid.SampledFrom([]string{"rules", "card", "timeout"}).Draw(t, "outcome"),
		Reason:     rapid.SampledFrom([]string{"", "headers"}).Draw(t, "reason"),
		HTTPStatus: rapid.SampledFrom([]int{0, 200, 404}).Draw(t, "status"),
		Requests:   rapid.Int64Range(0, 4).Draw(t, "requests"),
		BodyBytes:  rapid.Int64Range(0, 512_000).Draw(t, "bytes"),
		Elapsed:    time.Duration(rapid.Int64Range(0, 5_000_000).Draw(t, "elapsed")) * time.Microsecond,
	}
}

// However sites are split over counters, the rows are those of one count.
func TestTotalsAddUpHoweverTheyAreSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var whole Totals
		parts := make([]Totals, 3)
		for range rapid.IntRange(0, 40).Draw(t, "sites") {
			rank := rapid.Int64Range(1, 2_000_000).Draw(t, "rank")
			outcome := rapid.SampledFrom([]string{"card", "not_found", "timeout"}).Draw(t, "outcome")
			fetch := drawFetch(t)
			part := &parts[rapid.IntRange(0, 2).Draw(t, "part")]
			for _, totals := range []*Totals{&whole, part} {
				totals.AddSite(rank, outcome, fetch.Reason)
				totals.AddFetch(rank, fetch)
			}
		}
		var carried Totals
		for i := range parts {
			for key, values := range parts[i].Counters() {
				if err := carried.Add(key, values); err != nil {
					t.Fatal(err)
				}
			}
		}
		if diff := cmp.Diff(whole.SiteRows(), carried.SiteRows()); diff != "" {
			t.Fatalf("sites (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff(whole.FetchRows(), carried.FetchRows()); diff != "" {
			t.Fatalf("fetches (-want +got)\n%s", diff)
		}
		if carried.Sites("") != whole.Sites("") || carried.Fetches() != whole.Fetches() {
			t.Fatal("sums differ")
		}
		if !slices.IsSortedFunc(whole.SiteRows(), compareSiteTotals) || !slices.IsSortedFunc(whole.FetchRows(), compareFetchTotals) {
			t.Fatal("rows are not in the tables' order")
		}
	})
}

func TestShortFetchesDoNotLoseTheirFractions(t *testing.T) {
	var totals Totals
	for range 10 {
		totals.AddFetch(1, Fetch{Path: "/robots.txt", Outcome: "rules", Elapsed: 400 * time.Microsecond})
	}
	if rows := totals.FetchRows(); len(rows) != 1 || rows[0].ElapsedMS != 4 || rows[0].HTTPStatus != nil {
		t.Errorf("rows %+v", rows)
	}
}

func TestKeysComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		site := SiteKey{RankFrom: rapid.Int64().Draw(t, "rank"), Outcome: word.Draw(t, "outcome"), Reason: word.Draw(t, "reason")}
		fetch := FetchKey{RankFrom: site.RankFrom, Path: word.Draw(t, "path"), Outcome: site.Outcome, Reason: site.Reason, HTTPStatus: rapid.Int32().Draw(t, "status")}
		if got, err := ParseKey(site.Key()); err != nil || got != any(site) {
			t.Fatalf("%#v came back as %#v, %v", site, got, err)
		}
		if got, err := ParseKey(fetch.Key()); err != nil || got != any(fetch) {
			t.Fatalf("%#v came back as %#v, %v", fetch, got, err)
		}
	})
}

func TestForeignCountersAreRefused(t *testing.T) {
	for _, test := range []struct {
		name   string
		key    string
		values []int64
	}{
		{"no key", "", []int64{1}},
		{"another sort", "visit/1/card/", []int64{1}},
		{"too few fields", "site/1/card", []int64{1}},
		{"too many fields", "site/1/card//", []int64{1}},
		{"no rank", "site/first/card/", []int64{1}},
		{"a broken escape", "site/1/c%zzard/", []int64{1}},
		{"no status", "fetch/1/p/card//ok", []int64{1, 1, 1, 1}},
		{"a status out of range", "fetch/1/p/card//99999999999", []int64{1, 1, 1, 1}},
		{"no values", "site/1/card/", nil},
		{"too many values", "site/1/card/", []int64{1, 2}},
		{"too few values", "fetch/1/p/card//200", []int64{1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var totals Totals
			if err := totals.Add(test.key, test.values); !errors.Is(err, ErrCounter) {
				t.Errorf("error %v", err)
			}
			if totals.SiteRows() == nil || len(totals.SiteRows())+len(totals.FetchRows()) != 0 {
				t.Error("something was counted")
			}
		})
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add("site/1/card/")
	f.Add("fetch/101/%2Frobots.txt/no_rules/status_404/404")
	f.Add("site/-1/%/x")
	f.Fuzz(func(t *testing.T, text string) {
		switch key, err := ParseKey(text); k := key.(type) {
		case SiteKey:
			if again, err := ParseKey(k.Key()); err != nil || again != key {
				t.Errorf("%q: %v came back as %v, %v", text, key, again, err)
			}
		case FetchKey:
			if again, err := ParseKey(k.Key()); err != nil || again != key {
				t.Errorf("%q: %v came back as %v, %v", text, key, again, err)
			}
		default:
			if !errors.Is(err, ErrCounter) {
				t.Errorf("%q: %v, %v", text, key, err)
			}
		}
	})
}
