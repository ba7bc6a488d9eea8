package sink

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// In a list with gaps in its ranks entries are numbered on, and the totals are
// still of the ranks.
func TestTotalsAreOfRanksNotOfEntries(t *testing.T) {
	o := crawlOptions(t.TempDir(), 3)
	ranks := []int64{7, 300, 70_000}
	o.RankOf = func(entry int64) int64 { return ranks[entry-1] }
	c := open(t, o)
	settle(t, c, withoutCard(1), withoutCard(2))
	noError(t, c.Begin(t.Context(), []int64{3}))
	noError(t, c.Close())
	c = open(t, o) // entry 3 is interrupted
	totals, err := c.Totals()
	noError(t, err)
	var got []string
	for _, row := range totals.SiteRows() {
		got = append(got, fmt.Sprintf("%d-%d %s %d", row.RankFrom, row.RankTo, row.Outcome, row.Sites))
	}
	want := []string{"1-100 not_found 1", "101-500 not_found 1", "50001-100000 interrupted 1"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// Under Options.Vouched no answer of a site frees the silent ones: Vouch does,
// and Outage makes them interrupted.
func TestSilentSitesWaitToBeVouchedFor(t *testing.T) {
	o := crawlOptions(t.TempDir(), 5)
	o.Vouched = true
	c := open(t, o)
	settle(t, c, silent(1), withoutCard(2))
	if c.Held() != 1 {
		t.Errorf("%d held after an answer, want 1", c.Held())
	}
	noError(t, c.Vouch(t.Context()))
	settle(t, c, silent(3), withoutCard(4))
	noError(t, c.Outage(t.Context()))
	totals, err := c.Totals()
	noError(t, err)
	if diff := cmp.Diff(map[string]int64{"timeout/connect": 1, "not_found": 2, "interrupted/own_outage": 1}, outcomes(t, totals)); diff != "" {
		t.Error(diff)
	}
	if err := c.Settle(t.Context(), withoutCard(5)); !errors.Is(err, ErrOutage) {
		t.Errorf("Settle after an outage: %v", err)
	}
	if err := c.Vouch(t.Context()); !errors.Is(err, ErrOutage) {
		t.Errorf("Vouch after an outage: %v", err)
	}
}

func TestWhoHoldsTheLock(t *testing.T) {
	out := t.TempDir()
	who := func() *LockedError {
		t.Helper()
		holder, err := Holder(out)
		noError(t, err)
		return holder
	}
	if holder := who(); holder != nil {
		t.Errorf("before any lock: %v", holder)
	}
	lock, err := AcquireLock(out, "weekly", aTuesday)
	noError(t, err)
	if holder := who(); holder == nil || holder.Kind != "weekly" || holder.PID != os.Getpid() || !holder.Since.Equal(aTuesday) {
		t.Errorf("held: %v", holder)
	}
	noError(t, lock.Release())
	// What a killed process leaves, whose number has come to another one.
	noError(t, os.WriteFile(lockPath(out), fmt.Appendf(nil, `{"kind":"weekly","pid":%d,"since":"2026-12-01T03:04:05Z"}`, os.Getpid()), 0o600))
	if holder := who(); holder != nil {
		t.Errorf("after it was released: %v", holder)
	}
	lock, err = AcquireLock(out, "weekly", aTuesday)
	noError(t, err)
	noError(t, lock.Release())
}

func TestUnfinishedKinds(t *testing.T) {
	out := t.TempDir()
	kinds, err := UnfinishedKinds(out)
	noError(t, err)
	if len(kinds) != 0 {
		t.Errorf("without a crawl: %v", kinds)
	}
	c := open(t, crawlOptions(out, 1))
	kinds, err = UnfinishedKinds(out)
	noError(t, err)
	if !slices.Equal(kinds, []Kind{Monthly}) {
		t.Errorf("while one runs: %v", kinds)
	}
	settle(t, c, withoutCard(1))
	_, err = c.Finish(t.Context(), Facts{})
	noError(t, err)
	if kinds, err = UnfinishedKinds(out); err != nil || len(kinds) != 0 {
		t.Errorf("after it: %v, %v", kinds, err)
	}
}
