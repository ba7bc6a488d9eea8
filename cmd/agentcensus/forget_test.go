package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentcensus/sink"
)

// command runs one command line and returns its exit status and its output.
func command(t *testing.T, args ...string) (status int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(t.Context(), args, streams{in: strings.NewReader(""), out: &o, err: &e})
	return status, o.String(), e.String()
}

// sitesIn are the sites of a table's rows, in all crawls.
func sitesIn[T sink.Card | sink.Check](t *testing.T, out string, site func(T) string) map[string]int {
	t.Helper()
	files, err := sink.Files(out, sink.TableName[T]())
	if err != nil {
		t.Fatal(err)
	}
	sites := map[string]int{}
	for _, f := range files {
		for row, err := range sink.ReadTable[T](f.Path) {
			if err != nil {
				t.Fatal(err)
			}
			sites[site(row)]++
		}
	}
	return sites
}

// A site that is forgotten leaves every table, and an unfinished crawl with its
// list; the crawl goes on, and no row of the site comes back.
func TestForgetEverywhere(t *testing.T) {
	y := newYears(t)
	y.month("2026-11-02", 0)
	y.must(y.week("2026-11-10", 0, nil))
	err := y.week("2026-11-17", 0, y.cutOff(y.canaryOf(), 60))
	if exitStatus(err) != exitResumable {
		t.Fatal(err)
	}
	cards := readCrawl[sink.Card](y, sink.Monthly, "2026-11-02")
	first, last := cards[0].Site, cards[len(cards)-1].Site

	for _, gone := range []string{first, last} {
		status, out, errOut := command(t, "forget", strings.ToUpper(gone), "--out", y.out, "--json")
		if status != exitComplete {
			t.Fatalf("exit status %d: %s", status, errOut)
		}
		var did forgotten
		if err := json.Unmarshal([]byte(out), &did); err != nil {
			t.Fatal(err)
		}
		want := map[removedRows]bool{
			{"cards", "monthly", "2026-11-02", false, 1}: true, {"cards", "weekly", "2026-11-10", false, 1}: true,
			{"checks", "weekly", "2026-11-10", false, 1}: true,
		}
		if gone == first { // the last was not asked yet
			want[removedRows{"cards", "weekly", "2026-11-17", true, 1}] = true
			want[removedRows{"checks", "weekly", "2026-11-17", true, 1}] = true
		}
		for _, r := range did.Removed {
			if !want[r] {
				t.Errorf("%s: removed %+v", gone, r)
			}
			delete(want, r)
		}
		if len(want) > 0 || did.Unasked != 1 {
			t.Errorf("%s: %d entries of the list removed; not removed: %v", gone, did.Unasked, want)
		}
	}
	noTrace(t, y.out, first, last)

	y.must(y.week("2026-11-18", 0, nil))
	cardSites := sitesIn(t, y.out, func(c sink.Card) string { return c.Site })
	checkSites := sitesIn(t, y.out, func(c sink.Check) string { return c.Site })
	for _, gone := range []string{first, last} {
		if cardSites[gone]+checkSites[gone] > 0 {
			t.Errorf("%s is back", gone)
		}
	}
	if other := cards[1].Site; cardSites[other] != 3 || checkSites[other] != 2 {
		t.Errorf("%s has %d rows of cards and %d of checks", other, cardSites[other], checkSites[other])
	}
	if row := readCrawl[sink.CrawlRow](y, sink.Weekly, "2026-11-17")[0]; row.Sites != int64(len(cards)) || row.Suppressed != 1 {
		t.Errorf("%d sites, %d suppressed", row.Sites, row.Suppressed)
	}

	// The month after: asked and counted, but no row.
	y.month("2026-12-01", 0)
	row := readCrawl[sink.CrawlRow](y, sink.Monthly, "2026-12-01")[0]
	if n := len(readCrawl[sink.Card](y, sink.Monthly, "2026-12-01")); row.Suppressed != 2 || int64(n)+2 != row.Cards {
		t.Errorf("%d cards, %d suppressed, %d rows", row.Cards, row.Suppressed, n)
	}
}

// noTrace looks for names in the bytes of every file but the suppression list.
func noTrace(t *testing.T, out string, names ...string) {
	t.Helper()
	err := filepath.WalkDir(out, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "suppressed.txt" {
			return err
		}
		raw, err := os.ReadFile(path)
		for _, name := range names {
			if bytes.Contains(raw, []byte(name)) {
				t.Errorf("%s holds %s", path, name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestForgetKeepsOut(t *testing.T) {
	dir := t.TempDir()
	out, optOut := filepath.Join(dir, "out"), filepath.Join(dir, "opt-out.txt")
	configured, bare := filepath.Join(dir, "configured.yaml"), filepath.Join(dir, "bare.yaml")
	for path, content := range map[string]string{optOut: "# asked by mail\n", configured: "opt_out: opt-out.txt\n", bare: "{}\n"} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"in its own letters", []string{"Bücher.example", "--keep-out", "--config", configured}, exitComplete, "kept out by"},
		{"a second time", []string{"xn--bcher-kva.example", "--keep-out", "--config", configured}, exitComplete, "0 rows removed"},
		{"without the file", []string{"a.example", "--keep-out", "--config", bare}, exitUsage, "opt_out"},
		{"a public suffix", []string{"co.uk", "--config", configured}, exitUsage, "public suffix"},
		{"a public suffix that is meant", []string{"=co.uk", "--config", configured}, exitComplete, "suppressed in"},
		{"no name", []string{"two words", "--config", configured}, exitUsage, "not a domain name"},
		{"nothing named", nil, exitUsage, "arg"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			status, o, e := command(t, append([]string{"forget", "--out", out}, test.args...)...)
			if status != test.status || !strings.Contains(o+e, test.says) {
				t.Errorf("exit status %d, want %d: %s%s", status, test.status, o, e)
			}
		})
	}
	for path, want := range map[string]string{optOut: "# asked by mail\nxn--bcher-kva.example\n", filepath.Join(dir, "suppressed.txt"): "xn--bcher-kva.example\n=co.uk\n"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: %q, want %q (%v)", path, got, want, err)
		}
	}
	t.Run("another directory", func(t *testing.T) {
		missing := filepath.Join(dir, "typo")
		if status, _, _ := command(t, "forget", "a.example", "--out", missing); status != exitUsage {
			t.Errorf("exit status %d", status)
		}
		if _, err := os.Stat(missing); err == nil {
			t.Error("it was made")
		}
	})
	t.Run("while a crawl runs", func(t *testing.T) {
		lock, err := sink.AcquireLock(out, "monthly", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		status, _, e := command(t, "forget", "b.example", "--out", out, "--config", configured)
		if status != exitResumable || !strings.Contains(e, "monthly, process") {
			t.Errorf("exit status %d: %s", status, e)
		}
		if err := lock.Release(); err != nil {
			t.Fatal(err)
		}
	})
}
