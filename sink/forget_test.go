package sink

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func covers(sites ...string) func(string) bool {
	return func(host string) bool { return slices.Contains(sites, host) }
}

// cardsOf returns the sites of the cards of one crawl, in the file's order.
func cardsOf(t *testing.T, dir string, meta Meta) []string {
	t.Helper()
	return answer(t, openDuck(t, dir), "SELECT site FROM cards WHERE kind = '"+meta.Kind+"' AND crawl = DATE '"+meta.Crawl+"'")
}

func TestForgetRemovesTheRowsOfASiteFromEveryTable(t *testing.T) {
	dir := writeCensus(t)
	report, err := Forget(dir, covers("aster.example"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Removed{{"cards", "monthly", "2026-11-01", 1}, {"cards", "monthly", "2026-12-01", 1},
		{"cards", "weekly", "2026-12-08", 1}, {"checks", "weekly", "2026-12-08", 1}}
	if diff := cmp.Diff(want, report.Removed); diff != "" || report.Rows() != 4 {
		t.Errorf("%d rows (-want +got)\n%s", report.Rows(), diff)
	}
	if diff := cmp.Diff([]string{"birch.example", "cedar.example", "dahlia.example"}, cardsOf(t, dir, december)); diff != "" {
		t.Errorf("cards of December (-want +got)\n%s", diff)
	}
	db := openDuck(t, dir)
	if got := answer(t, db, "SELECT site FROM checks ORDER BY rank"); len(got) != 3 || got[0] != "birch.example" {
		t.Errorf("checks left: %q", got)
	}
	for _, file := range filesUnder(t, dir) {
		content, err := os.ReadFile(dir + "/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), "aster") {
			t.Errorf("%s still has the name", file)
		}
	}
}

func TestCardRowsAndSuppressedStillAddUpAfterForget(t *testing.T) {
	dir := writeCensus(t)
	sums := "SELECT cr.crawl, cr.cards, cr.suppressed, count(c.site) FROM crawls cr LEFT JOIN cards c USING (kind, crawl) GROUP BY ALL ORDER BY cr.crawl"
	if _, err := Forget(dir, covers("aster.example", "cedar.example")); err != nil {
		t.Fatal(err)
	}
	want := []string{"2026-11-01 | 3 | 1 | 2", "2026-12-01 | 5 | 3 | 2", "2026-12-08 | 2 | 1 | 1"}
	if diff := cmp.Diff(want, answer(t, openDuck(t, dir), sums)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// Killed after the cards were rewritten and before crawls was, it is run again.
	put(t, dir, december, birch())
	report, err := Forget(dir, covers("aster.example", "cedar.example"))
	if err != nil || report.Rows() != 0 {
		t.Errorf("%d rows, %v", report.Rows(), err)
	}
	want[1] = "2026-12-01 | 5 | 4 | 1"
	if diff := cmp.Diff(want, answer(t, openDuck(t, dir), sums)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestForgetLeavesAllElseAsItWas(t *testing.T) {
	dir := writeCensus(t)
	path := pathOf[Card](dir, december)
	look := func() []string {
		db := openDuck(t, dir)
		found := answer(t, db, "SELECT decode(key), decode(value) FROM parquet_kv_metadata('"+path+"') ORDER BY 1")
		found = append(found, answer(t, db, "SELECT path_in_schema, type, encodings, compression FROM parquet_metadata('"+path+"')")...)
		return append(found, answer(t, db, "SELECT * FROM cards WHERE site <> 'cedar.example' ORDER BY crawl, rank")...)
	}
	before := look()
	if _, err := Forget(dir, covers("cedar.example")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, look()); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
	got := answer(t, openDuck(t, dir), "SELECT stats_min_value IS NULL AND stats_min IS NULL FROM parquet_metadata('"+path+"') WHERE path_in_schema = 'card_json'")
	if diff := cmp.Diff([]string{"true"}, got); diff != "" {
		t.Errorf("bounds of card_json (-want +got)\n%s", diff)
	}
}

func TestForgetTouchesNoFileWithoutSuchARow(t *testing.T) {
	dir := writeCensus(t)
	inodes := func() map[string]os.FileInfo {
		found := make(map[string]os.FileInfo)
		for _, file := range filesUnder(t, dir) {
			info, err := os.Stat(dir + "/" + file)
			if err != nil {
				t.Fatal(err)
			}
			found[file] = info
		}
		return found
	}
	// Let the counts be right, so that there is nothing to bring up to date.
	put(t, dir, december, CrawlRow{Cards: 4})
	before := inodes()
	report, err := Forget(dir, covers("nobody.example", "ster.example"))
	if err != nil || report.Rows() != 0 {
		t.Fatalf("%d rows, %v", report.Rows(), err)
	}
	for file, info := range inodes() {
		if !os.SameFile(before[file], info) {
			t.Errorf("%s was rewritten", file)
		}
	}
}

// Columns that this version does not know must survive a removal.
func TestForgetKeepsTheLayoutOfOtherVersions(t *testing.T) {
	dir := t.TempDir()
	older := Meta{Kind: "monthly", Crawl: "2026-10-01"}
	writeOld(t, dir, older)
	report, err := Forget(dir, covers("older.example"))
	if err != nil || report.Rows() != 1 {
		t.Fatalf("%d rows, %v", report.Rows(), err)
	}
	db := openDuck(t, dir)
	path := pathOf[Card](dir, older)
	want := []string{"old.example | [{'url': 'https://old.example/', 'binding': JSONRPC}]"}
	if diff := cmp.Diff(want, answer(t, db, "SELECT site, interfaces FROM read_parquet('"+path+"')")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want = []string{"note | kept", "schema_version | 0"}
	if diff := cmp.Diff(want, answer(t, db, "SELECT decode(key), decode(value) FROM parquet_kv_metadata('"+path+"') ORDER BY 1")); diff != "" {
		t.Errorf("metadata (-want +got)\n%s", diff)
	}
}

func TestOneBrokenFileDoesNotKeepForgetFromTheOthers(t *testing.T) {
	dir := writeCensus(t)
	broken := pathOf[Card](dir, november)
	if err := os.WriteFile(broken, []byte("PAR1 not any more"), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := Forget(dir, covers("aster.example"))
	if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), broken) {
		t.Errorf("error %v", err)
	}
	if report.Rows() != 3 {
		t.Errorf("%d rows removed from the others", report.Rows())
	}
}

func TestForgetWithoutData(t *testing.T) {
	if report, err := Forget(t.TempDir(), covers("a.example")); err != nil || report.Removed != nil {
		t.Errorf("%v, %v", report, err)
	}
}
