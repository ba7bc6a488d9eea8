package sink

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentcensus/sink/state"

	"github.com/google/go-cmp/cmp"
)

// aTuesday lies in the week 2026-W49, which has days of November too.
var aTuesday = time.Date(2026, 12, 1, 3, 4, 5, 0, time.UTC)

// crawlOptions are those of a monthly crawl of entries sites.
func crawlOptions(out string, entries int64) Options {
	return Options{
		Out: out, Kind: Monthly, Now: func() time.Time { return aTuesday },
		List:     ListInfo{Source: "tranco", ListID: "LJX2Y", SHA256: "00ff", Entries: entries},
		Settings: map[string]string{"robots policy": "rfc9309"},
	}
}

func open(t *testing.T, o Options) *Crawl {
	t.Helper()
	c, err := OpenCrawl(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// withoutCard is a site that answered without a card, published one with a card.
func withoutCard(rank int64) Record {
	return Record{Entry: rank, Outcome: "not_found", Answered: true, Fetches: []FetchRecord{
		{Path: "/robots.txt", Outcome: "no_rules", Reason: "status_404", HTTPStatus: 404, Requests: 1, Elapsed: time.Millisecond},
		{Path: "/.well-known/agent-card.json", Outcome: "not_found", HTTPStatus: 404, Requests: 2, BodyBytes: 10, Elapsed: time.Millisecond},
	}}
}

func published(rank int64, site string) Record {
	text, no := `{"name":"`+site+`"}`, false
	return Record{Entry: rank, Outcome: "card", Answered: true, Card: &Card{
		Rank: rank, Site: site, CardURL: "https://" + site + "/.well-known/agent-card.json", Name: new(""), Streaming: &no, CardJSON: &text,
		Skills: []Skill{{ID: new("s"), Tags: []string{}}},
	}}
}

func silent(rank int64) Record {
	return Record{Entry: rank, Outcome: "timeout", Reason: "connect", Fetches: []FetchRecord{
		{Path: "/robots.txt", Outcome: "timeout", Reason: "connect", Requests: 1, Elapsed: 5 * time.Second},
	}}
}

func settle(t *testing.T, c *Crawl, records ...Record) {
	t.Helper()
	for _, r := range records {
		noError(t, c.Begin(t.Context(), []int64{r.Entry}))
		noError(t, c.Settle(t.Context(), r))
	}
}

// outcomes are a crawl's totals as outcome/reason: sites.
func outcomes(t *testing.T, totals *Totals) map[string]int64 {
	t.Helper()
	sum := map[string]int64{}
	for _, row := range totals.SiteRows() {
		sum[strings.TrimSuffix(row.Outcome+"/"+row.Reason, "/")] += row.Sites
	}
	return sum
}

func readRowsOf[T Row](t *testing.T, path string) []T {
	t.Helper()
	var rows []T
	for row, err := range ReadTable[T](path) {
		noError(t, err)
		rows = append(rows, row)
	}
	return rows
}

func leftUnder(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	noError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, relErr := filepath.Rel(root, path)
			files, err = append(files, name), relErr
		}
		return err
	}))
	return files
}

func TestACrawlFromStartToTables(t *testing.T) {
	out := filepath.Join(t.TempDir(), "census")
	c := open(t, crawlOptions(out, 6))
	settle(t, c, withoutCard(1), published(3, "third.example"), published(2, "second.example"))
	suppressed := published(4, "")
	suppressed.Card, suppressed.Suppressed = nil, true
	settle(t, c, suppressed)
	noError(t, c.Settle(t.Context(), Record{Entry: 5, Outcome: "invalid_name", Reason: "empty", Neutral: true}))
	noError(t, c.Settle(t.Context(), Record{Entry: 6, Outcome: "opted_out", Neutral: true}))
	noError(t, WriteStatus(out, Status{Kind: "monthly", Outcomes: map[string]int64{"card": 3}}))
	noError(t, os.WriteFile(ListCopyPath(out, Monthly), []byte("first.example\n"), 0o600))

	summary, err := c.Finish(t.Context(), Facts{UserAgent: "Bot/1.0", KeyID: "key", SoftwareVersion: "v1"})
	noError(t, err)
	noError(t, c.Close())

	want := CrawlRow{
		SchemaVersion: SchemaVersion, ListSource: "tranco", ListID: "LJX2Y", ListSHA256: "00ff", Entries: 6,
		Started: aTuesday.UnixMicro(), Finished: aTuesday.UnixMicro(), UserAgent: "Bot/1.0", KeyID: "key", SoftwareVersion: "v1",
		Settings: `{"robots policy":"rfc9309"}`, Sites: 6, Cards: 3, Suppressed: 1, OptedOut: 1, Requests: 3, BodyBytes: 10,
	}
	if diff := cmp.Diff([]CrawlRow{want}, readRowsOf[CrawlRow](t, summary.Path)); diff != "" {
		t.Error(diff)
	}
	cards := readRowsOf[Card](t, TablePath(out, "cards", "monthly", "2026-12-01"))
	if len(cards) != 2 || cards[0].Site != "second.example" || cards[1].Site != "third.example" {
		t.Fatalf("cards: %+v", cards)
	}
	if c := cards[0]; c.Name == nil || *c.Name != "" || c.Description != nil || c.Streaming == nil || *c.Streaming || c.PushNotifications != nil {
		t.Errorf("NULL, false and empty are mixed up: %+v", c)
	}
	wantOutcomes := map[string]int64{"card": 3, "not_found": 1, "invalid_name/empty": 1, "opted_out": 1}
	if got := outcomes(t, summary.Totals); !maps.Equal(got, wantOutcomes) {
		t.Errorf("outcomes %v, want %v", got, wantOutcomes)
	}
	for _, name := range leftUnder(t, out) {
		if !strings.HasSuffix(name, ".parquet") && name != ViewsFile && name != QuestionsFile && name != ".state/lock" {
			t.Errorf("%s is left behind", name)
		}
	}
	if text, err := os.ReadFile(lockPath(out)); err != nil || len(text) > 0 {
		t.Errorf("the lock file says %q (%v)", text, err)
	}
}

func TestASiteWithoutACardLeavesNoTraceInTheState(t *testing.T) {
	out := t.TempDir()
	c := open(t, crawlOptions(out, 10))
	settle(t, c, withoutCard(1), published(2, "second.example"), withoutCard(3))
	noError(t, c.Close())
	store, err := state.Open(statePath(out, Monthly), state.Options{})
	noError(t, err)
	var rows []int64
	for row, err := range store.Rows("cards") {
		noError(t, err)
		rows = append(rows, row.Rank)
	}
	if !slices.Equal(rows, []int64{2}) {
		t.Errorf("rows of the ranks %v", rows)
	}
	for key := range store.Counters() {
		if strings.Contains(key, "example") {
			t.Errorf("a counter names a site: %q", key)
		}
	}
	noError(t, store.Close())
}

func TestResume(t *testing.T) {
	out := t.TempDir()
	o := crawlOptions(out, 5)
	c := open(t, o)
	settle(t, c, withoutCard(1))
	noError(t, c.Begin(t.Context(), []int64{2, 3}))
	noError(t, c.Close())

	o.Now = func() time.Time { return aTuesday.AddDate(0, 2, 0) } // finished first, under its own date
	c = open(t, o)
	if !c.Resumed() || c.Date() != "2026-12-01" || c.Settled() != 3 {
		t.Errorf("resumed %t, date %s, %d settled", c.Resumed(), c.Date(), c.Settled())
	}
	for rank, want := range map[int64]bool{1: true, 2: true, 3: true, 4: false, 5: false} {
		if c.Skip(rank) != want {
			t.Errorf("Skip(%d) is %t", rank, !want)
		}
	}
	settle(t, c, withoutCard(4))
	if _, err := c.Finish(t.Context(), Facts{}); !errors.As(err, new(*UnfinishedError)) {
		t.Errorf("Finish with a site to go: %v", err)
	}
	noError(t, c.Close())
	c = open(t, o)
	settle(t, c, withoutCard(5))
	summary, err := c.Finish(t.Context(), Facts{})
	noError(t, err)
	noError(t, c.Close())
	if summary.Crawl.Interruptions != 2 || summary.Crawl.Sites != 5 {
		t.Errorf("%d interruptions, %d sites", summary.Crawl.Interruptions, summary.Crawl.Sites)
	}
	if got, want := outcomes(t, summary.Totals), map[string]int64{"not_found": 3, "interrupted/crash": 2}; !maps.Equal(got, want) {
		t.Errorf("outcomes %v, want %v", got, want)
	}
}

func TestResumeUnderOtherSettingsIsRefused(t *testing.T) {
	out := t.TempDir()
	noError(t, open(t, crawlOptions(out, 5)).Close())
	tests := map[string]struct {
		change func(*Options)
		name   string
	}{
		"a setting":    {func(o *Options) { o.Settings = map[string]string{"robots policy": "strict"} }, "robots policy"},
		"one more":     {func(o *Options) { o.Settings = map[string]string{"robots policy": "rfc9309", "x": "1"} }, "x"},
		"another list": {func(o *Options) { o.List.ListID = "OTHER" }, "list ID"},
		"other bytes":  {func(o *Options) { o.List.SHA256 = "11" }, "list sha256"},
		"other length": {func(o *Options) { o.List.Entries = 6 }, "list entries"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := crawlOptions(out, 5)
			test.change(&o)
			var refusal *SettingsError
			if _, err := OpenCrawl(t.Context(), o); !errors.As(err, &refusal) || refusal.Name != test.name {
				t.Errorf("got %v", err)
			}
		})
	}
	lock, err := AcquireLock(out, string(Monthly), aTuesday)
	noError(t, err)
	if h, err := lock.Unfinished(Monthly); err != nil || h == nil || h.List.ListID != "LJX2Y" {
		t.Errorf("Unfinished: %+v, %v", h, err)
	}
	noError(t, lock.Release())
	o := crawlOptions(out, 6)
	o.Abandon = true
	if c := open(t, o); c.Resumed() {
		t.Error("an abandoned crawl was resumed")
	}
}

func TestPeriods(t *testing.T) {
	day := func(text string) time.Time {
		date, err := time.Parse(time.DateOnly, text)
		noError(t, err)
		return date
	}
	tests := map[string]struct {
		kind     Kind
		done     string
		now      string
		complete bool
	}{
		"the same month":              {Monthly, "2026-12-01", "2026-12-31", true},
		"the next month":              {Monthly, "2026-12-31", "2027-01-01", false},
		"the same month a year later": {Monthly, "2026-12-01", "2027-12-01", false},
		"the same ISO week":           {Weekly, "2026-11-30", "2026-12-06", true},
		"the next ISO week":           {Weekly, "2026-12-06", "2026-12-07", false},
		"a week over New Year":        {Weekly, "2026-12-28", "2027-01-03", true},
		"the first week of ISO 2027":  {Weekly, "2027-01-03", "2027-01-04", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			finishOne(t, out, test.kind, day(test.done))
			o := crawlOptions(out, 1)
			o.Kind, o.Now = test.kind, func() time.Time { return day(test.now) }
			if err := Complete(out, test.kind, day(test.now)); errors.As(err, new(*CompleteError)) != test.complete {
				t.Errorf("Complete: %v", err)
			}
			c, err := OpenCrawl(t.Context(), o)
			var complete *CompleteError
			if errors.As(err, &complete) != test.complete {
				t.Fatalf("got %v", err)
			}
			if err == nil {
				noError(t, c.Close())
			} else if complete.Date != test.done {
				t.Errorf("complete as of %s", complete.Date)
			}
		})
	}
}

// finishOne makes a whole crawl of one site.
func finishOne(t *testing.T, out string, kind Kind, at time.Time) Summary {
	t.Helper()
	o := crawlOptions(out, 1)
	o.Kind, o.Now, o.Replace = kind, func() time.Time { return at }, true
	c := open(t, o)
	settle(t, c, withoutCard(1))
	summary, err := c.Finish(t.Context(), Facts{})
	noError(t, err)
	noError(t, c.Close())
	return summary
}

func TestASecondAdhocCrawlOfADay(t *testing.T) {
	out := t.TempDir()
	finishOne(t, out, Adhoc, aTuesday)
	o := crawlOptions(out, 1)
	o.Kind, o.Now = Adhoc, func() time.Time { return aTuesday.Add(time.Hour) }
	if _, err := OpenCrawl(t.Context(), o); !errors.As(err, new(*ExistsError)) {
		t.Fatalf("got %v", err)
	}
	second := finishOne(t, out, Adhoc, aTuesday.Add(time.Hour))
	rows := readRowsOf[CrawlRow](t, second.Path)
	if len(rows) != 1 || rows[0].Started != aTuesday.Add(time.Hour).UnixMicro() {
		t.Errorf("the replaced crawl reads %+v", rows)
	}
}

func TestKilledAfterTheCrawlsRow(t *testing.T) {
	out := t.TempDir()
	o := crawlOptions(out, 1)
	c := open(t, o)
	settle(t, c, withoutCard(1))
	noError(t, c.store.Flush(t.Context()))
	saved, err := os.ReadFile(statePath(out, Monthly))
	noError(t, err)
	_, err = c.Finish(t.Context(), Facts{})
	noError(t, err)
	noError(t, c.Close())
	noError(t, os.WriteFile(statePath(out, Monthly), saved, 0o600))
	noError(t, os.Remove(filepath.Join(out, ViewsFile)))

	if _, err := OpenCrawl(t.Context(), o); !errors.As(err, new(*CompleteError)) {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(statePath(out, Monthly)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(out, ViewsFile)); err != nil {
		t.Error(err)
	}
}

func TestSimulatedAndRealNeverMix(t *testing.T) {
	finished, unfinished := t.TempDir(), t.TempDir()
	finishOne(t, finished, Adhoc, aTuesday)
	noError(t, open(t, crawlOptions(unfinished, 1)).Close())
	for name, out := range map[string]string{"a finished crawl": finished, "an unfinished one": unfinished} {
		o := crawlOptions(out, 1)
		o.Kind, o.Simulated = Weekly, true
		if _, err := OpenCrawl(t.Context(), o); !errors.As(err, new(*MixedError)) {
			t.Errorf("beside %s: %v", name, err)
		}
	}
}

// A state that only cannot be read now is not said to be lost.
func TestAStateOutOfReachIsNoLostOne(t *testing.T) {
	o := crawlOptions(t.TempDir(), 3)
	c := open(t, o)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	path := statePath(o.Out, o.Kind)
	if err := errors.Join(os.Rename(path, path+".kept"), os.Symlink(path, path)); err != nil {
		t.Fatal(err)
	}
	_, err := OpenCrawl(t.Context(), o)
	var unread *UnreadableError
	if !errors.As(err, &unread) || unread.Kind != o.Kind || strings.Contains(err.Error(), "abandon") {
		t.Errorf("%v, want that it cannot be read", err)
	}
	if err := os.Rename(path+".kept", path); err != nil {
		t.Fatal(err)
	}
	if c := open(t, o); !c.Resumed() {
		t.Error("a new crawl was begun")
	}
}

func TestADamagedStateIsRefusedUntilAbandoned(t *testing.T) {
	out := t.TempDir()
	o := crawlOptions(out, 9)
	noError(t, open(t, o).Close())
	raw, err := os.ReadFile(statePath(out, Monthly))
	noError(t, err)
	noError(t, os.WriteFile(statePath(out, Monthly), raw[:9000], 0o600))
	if _, err := OpenCrawl(t.Context(), o); !errors.As(err, new(*state.Error)) {
		t.Errorf("got %v", err)
	}
	o.Abandon = true
	open(t, o)
}

func TestSilentSitesAreHeldBackUntilOneAnswers(t *testing.T) {
	out := t.TempDir()
	o := crawlOptions(out, 20)
	o.OutageAfter = 4
	c := open(t, o)
	settle(t, c, silent(1), silent(2), silent(3))
	noError(t, c.Settle(t.Context(), Record{Entry: 20, Outcome: "duplicate", Neutral: true}))
	if c.Settled() != 1 {
		t.Errorf("%d settled while three are held back", c.Settled())
	}
	settle(t, c, withoutCard(4))
	if c.Settled() != 5 {
		t.Errorf("%d settled after an answer", c.Settled())
	}
	settle(t, c, silent(5), silent(6), silent(7))
	noError(t, c.Begin(t.Context(), []int64{8, 9}))
	if err := c.Settle(t.Context(), silent(8)); !errors.Is(err, ErrOutage) {
		t.Errorf("the fourth silent site in a row: %v", err)
	}
	if err := c.Settle(t.Context(), withoutCard(9)); !errors.Is(err, ErrOutage) {
		t.Errorf("after the outage: %v", err)
	}
	noError(t, c.Close())

	c = open(t, o)
	totals, err := c.Totals()
	noError(t, err)
	want := map[string]int64{"timeout/connect": 3, "duplicate": 1, "not_found": 1, "interrupted/own_outage": 4, "interrupted/crash": 1}
	if got := outcomes(t, totals); !maps.Equal(got, want) {
		t.Errorf("outcomes %v, want %v", got, want)
	}
	for _, row := range totals.FetchRows() {
		if row.Outcome == "timeout" && row.Fetches != 3 || row.Outcome == "interrupted" && row.Requests != 4 {
			t.Errorf("fetches: %+v", row)
		}
	}
}

// Whatever made them wrong, totals that do not add up are not published (P13).
func TestTotalsThatDoNotAddUpAreNotPublished(t *testing.T) {
	out := t.TempDir()
	c := open(t, crawlOptions(out, 1))
	settle(t, c, withoutCard(1))
	noError(t, c.store.Count(state.Counter{Key: NewSiteKey(1, "card", "").Key(), Add: []int64{1}}))
	if _, err := c.Finish(t.Context(), Facts{}); err == nil || !strings.Contains(err.Error(), "2 sites of 1") {
		t.Errorf("got %v", err)
	}
	if files, err := Files(out, "site_totals"); err != nil || len(files) != 0 {
		t.Errorf("published: %v, %v", files, err)
	}
}

func TestHeldBackSitesEndAsTheyAreWithTheCrawl(t *testing.T) {
	c := open(t, crawlOptions(t.TempDir(), 2))
	settle(t, c, withoutCard(1), silent(2))
	summary, err := c.Finish(t.Context(), Facts{})
	noError(t, err)
	if got, want := outcomes(t, summary.Totals), map[string]int64{"not_found": 1, "timeout/connect": 1}; !maps.Equal(got, want) {
		t.Errorf("outcomes %v, want %v", got, want)
	}
}

func TestARowWithoutItsOutcomeIsRefused(t *testing.T) {
	c := open(t, crawlOptions(t.TempDir(), 3))
	wrong := published(1, "first.example")
	wrong.Outcome = "not_found"
	missing := published(2, "second.example")
	missing.Card = nil
	for _, r := range []Record{wrong, missing} {
		if err := c.Settle(t.Context(), r); err == nil {
			t.Errorf("entry %d was taken", r.Entry)
		}
	}
}

func TestWeeklyChecksAreComplete(t *testing.T) {
	out := t.TempDir()
	o := crawlOptions(out, 5)
	o.Kind = Weekly
	c := open(t, o)
	noError(t, c.Begin(t.Context(), []int64{1, 5}))
	noError(t, c.Close())
	c = open(t, o)
	up := published(3, "third.example")
	up.Check = &Check{Rank: 3, Site: "third.example", Status: "up", SkillsAdded: []string{}}
	gone := withoutCard(2)
	gone.Check = &Check{Rank: 2, Site: "second.example", Status: "down"}
	settle(t, c, up, gone, withoutCard(4))
	_, err := c.Finish(t.Context(), Facts{MissingCheck: func(rank int64) (Check, bool) {
		return Check{Rank: rank, Site: fmt.Sprintf("%d.example", rank), Status: "unknown"}, rank != 4
	}})
	noError(t, err)
	var got []string
	for _, row := range readRowsOf[Check](t, TablePath(out, "checks", "weekly", "2026-12-01")) {
		got = append(got, fmt.Sprint(row.Rank, row.Site, row.Status, row.SkillsAdded == nil))
	}
	want := []string{"1 1.example unknown true", "2 second.example down true", "3 third.example up false", "5 5.example unknown true"}
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], " ", "")
	}
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], " ", "")
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestForgetInAnUnfinishedCrawl(t *testing.T) {
	out := t.TempDir()
	o := crawlOptions(out, 3)
	c := open(t, o)
	settle(t, c, published(1, "stays.example"), published(2, "gone.example"), published(3, "www.gone.example"))
	noError(t, c.Close())
	report, err := ForgetUnfinished(out, func(host string) bool { return strings.HasSuffix(host, "gone.example") })
	noError(t, err)
	if diff := cmp.Diff(Report{Removed: []Removed{{"cards", "monthly", "2026-12-01", 2}}}, report); diff != "" {
		t.Error(diff)
	}
	c = open(t, o)
	summary, err := c.Finish(t.Context(), Facts{})
	noError(t, err)
	if summary.Crawl.Cards != 3 || summary.Crawl.Suppressed != 2 {
		t.Errorf("%d cards, %d suppressed", summary.Crawl.Cards, summary.Crawl.Suppressed)
	}
	raw, err := os.ReadFile(TablePath(out, "cards", "monthly", "2026-12-01"))
	noError(t, err)
	if bytes.Contains(raw, []byte("gone.example")) {
		t.Error("the forgotten site is in the table")
	}
}

func TestAnOutputDirectoryThatIsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "census")
	noError(t, os.WriteFile(path, nil, 0o600))
	if _, err := OpenCrawl(t.Context(), crawlOptions(path, 1)); err == nil || !strings.Contains(err.Error(), path+" is a file") {
		t.Errorf("got %v", err)
	}
}

func TestStatus(t *testing.T) {
	out := t.TempDir()
	if _, err := ReadStatus(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a crawl: %v", err)
	}
	c := open(t, crawlOptions(out, 100))
	want := Status{Kind: "monthly", Date: c.Date(), Running: true, Started: aTuesday, Updated: aTuesday, Entries: 100, Settled: 40,
		Rate: 2, Outcomes: map[string]int64{"card": 1}}
	noError(t, WriteStatus(out, want))
	got, err := ReadStatus(out)
	noError(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.Remaining() != 30*time.Second {
		t.Errorf("remaining %s", got.Remaining())
	}
}
