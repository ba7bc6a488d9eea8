package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentcensus/sink"
)

func TestErrorsSayWhatToDo(t *testing.T) {
	census := writeCensus(t)
	empty := t.TempDir()
	unfinished := t.TempDir()
	put(t, unfinished, november, finch()) // the row in crawls comes last
	begun := t.TempDir()                  // nothing but the state of a crawl
	crawl, err := sink.OpenCrawl(t.Context(), sink.Options{Out: begun, Kind: sink.Monthly, Now: time.Now, List: sink.ListInfo{Entries: 1}})
	if err := errors.Join(err, crawl.Close()); err != nil {
		t.Fatal(err)
	}
	aFile := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(aFile, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, check := range []struct {
		name   string
		args   []string
		status int
		parts  []string
	}{
		{"no data named", []string{"summary"}, exitUsage, []string{"--data is missing"}},
		{"no such directory", []string{"summary", "--data", empty + "/no"}, exitUsage, []string{"there is no directory " + empty + "/no", "--out"}},
		{"a file", []string{"summary", "--data", aFile}, exitUsage, []string{aFile + " is a file"}},
		{"an empty directory", []string{"summary", "--data", empty}, exitUsage, []string{empty + " holds no census", "there is no data/"}},
		{"one directory too deep", []string{"summary", "--data", census + "/data"}, exitUsage, []string{"try the directory above it: --data " + census}},
		{"no finished crawl", []string{"report", "--data", unfinished, "--out", empty + "/x.html"}, exitFailed, []string{"no crawl under " + unfinished + " is finished", "agentcensus crawl --out"}},
		{"a first crawl that is not finished", []string{"summary", "--data", begun}, exitFailed, []string{"no crawl under " + begun + " is finished"}},
		{"no file named", []string{"report", "--data", census}, exitUsage, []string{"--out is missing"}},
		{"no directory to write in", []string{"report", "--data", census, "--out", empty + "/no/x.html"}, exitUsage, []string{"there is no directory " + empty + "/no"}},
		{"a directory as the file", []string{"report", "--data", census, "--out", empty}, exitUsage, []string{empty + ": it is a directory"}},
		{"a file as the directory", []string{"export", "--data", census, "--csv", aFile}, exitUsage, []string{aFile}},
		{"a wrong column", []string{"sql", "--data", census, "SELECT nothing FROM cards"}, exitUsage, []string{`"nothing" not found`, "DESCRIBE cards"}},
		{"a wrong table", []string{"sql", "--data", census, "SELECT * FROM agents"}, exitUsage, []string{"agents", "SHOW TABLES"}},
		{"no SQL", []string{"sql", "--data", census, "how many?"}, exitUsage, []string{"syntax error"}},
		{"an empty query", []string{"sql", "--data", census, " ; "}, exitUsage, []string{"the query is empty"}},
		{"two statements", []string{"sql", "--data", census, "SELECT 1; SELECT 2"}, exitUsage, []string{"one statement at a time"}},
		{"a remark after the semicolon", []string{"sql", "--data", census, "SELECT 1; -- one"}, exitUsage, []string{"one statement at a time"}},
		{"two statements in one", []string{"sql", "--data", census, "SELECT 1) UNION (SELECT 2"}, exitUsage, []string{"syntax error"}},
		{"no query", []string{"sql", "--data", census, "DROP VIEW cards"}, exitUsage, []string{"sql only reads: "}},
		{"a plan as JSON", []string{"sql", "--data", census, "--format", "json", "EXPLAIN FROM cards"}, exitUsage, []string{"--format csv"}},
		{"a query that fails", []string{"sql", "--data", census, "SELECT error('out of luck') FROM crawls"}, exitFailed, []string{"out of luck"}},
		{"an unknown format", []string{"sql", "--data", census, "--format", "xml", "SELECT 1"}, exitUsage, []string{`no format "xml"`, "csv"}},
		{"an unknown flag", []string{"summary", "--dada", census}, exitUsage, []string{"--dada", "--help"}},
		{"an unknown command", []string{"sumary"}, exitUsage, []string{"sumary"}},
		{"stray words", []string{"summary", "--data", census, "please"}, exitUsage, []string{"please"}},
	} {
		t.Run(check.name, func(t *testing.T) {
			out, errs, status := command(t, check.args...)
			if status != check.status || out != "" {
				t.Errorf("status %d, want %d; it prints %q", status, check.status, out)
			}
			for _, part := range check.parts {
				if !strings.Contains(errs, part) {
					t.Errorf("%q\nhas not %q", errs, part)
				}
			}
			if !strings.HasPrefix(errs, "agentcensus-report: ") || strings.Count(errs, "\n") != 1 {
				t.Errorf("not one line of its own: %q", errs)
			}
		})
	}
	if entries, err := os.ReadDir(empty); err != nil || len(entries) > 0 {
		t.Errorf("failed commands left %v, %v", entries, err)
	}
}

func TestABrokenFileIsNamed(t *testing.T) {
	for name, breakIt := range map[string]func([]byte) []byte{
		"cut short":  func(b []byte) []byte { return b[:len(b)/2] },
		"empty":      func([]byte) []byte { return nil },
		"no Parquet": func([]byte) []byte { return []byte("<html>not found</html>") },
		"pages flipped": func(b []byte) []byte {
			for i := 4; i < len(b)/3; i++ {
				b[i] ^= 0x5a
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeCensus(t)
			path := sink.TablePath(dir, "site_totals", november.Kind, november.Crawl)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, breakIt(text), 0o644); err != nil {
				t.Fatal(err)
			}
			commands := [][]string{{"report", "--out", filepath.Join(dir, "x.html")}}
			if name == "cut short" {
				commands = append(commands, []string{"summary"}, []string{"export", "--csv", filepath.Join(dir, "csv")}, []string{"sql", "FROM site_totals"})
			}
			for _, args := range commands {
				_, errs, status := command(t, append(args, "--data", dir)...)
				if status != exitFailed || !strings.Contains(errs, path+" is broken") || !strings.Contains(errs, "put a copy of it back") {
					t.Errorf("%v: status %d, %q", args, status, errs)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "x.html")); err == nil {
				t.Error("a page was written all the same")
			}
		})
	}
}

func TestOneCrawlWorksAndTheTrendAsksForTwo(t *testing.T) {
	dir := t.TempDir()
	writeOctober(t, dir)
	page, _ := pageOf(t, dir)
	if n := strings.Count(page, oneCrawl); n != 2 {
		t.Errorf("%d trends say that they need two crawls", n)
	}
	for _, part := range []string{"There is no weekly crawl yet", "Nothing to compare yet", `<data value="3">3</data>`} {
		if !strings.Contains(page, part) {
			t.Errorf("the page has not %q", part)
		}
	}
	if strings.Contains(page, "<dt>New</dt>") || strings.Contains(page, "<dt>Up") {
		t.Error("the page compares a crawl with nothing")
	}
	if out, _, _ := command(t, "summary", "--data", dir); !strings.Contains(out, oneCrawl) {
		t.Error("the summary does not say that a trend needs two crawls")
	}
}

func TestACrawlThatFoundNothingWorks(t *testing.T) {
	dir := t.TempDir()
	put[sink.Card](t, dir, november)
	put[sink.SiteTotal](t, dir, november)
	put[sink.FetchTotal](t, dir, november)
	put(t, dir, november, sink.CrawlRow{})
	page, _ := pageOf(t, dir)
	if n := strings.Count(page, "There is nothing to count."); n < 10 {
		t.Errorf("%d exhibits say that there is nothing to count", n)
	}
	if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
		t.Error("the page has a number that is none")
	}
	s := summaryOf(t, dir)
	if s.Headline["cards"] != 0. || s.Headline["share_of_readable"] != nil {
		t.Errorf("headline: %v", s.Headline)
	}
}

func TestAWeeklyCrawlAloneWorks(t *testing.T) {
	dir := t.TempDir()
	writeWeek(t, dir)
	s := summaryOf(t, dir)
	if s.Headline["share_of_listed"] != nil || s.Headline["up"] != 2. || s.Headline["cards"] != 2. {
		t.Errorf("headline: %v", s.Headline)
	}
	pageOf(t, dir)
}

func TestNumbersThatDoNotAddUpAreDoubted(t *testing.T) {
	t.Run("a file is gone", func(t *testing.T) {
		dir := writeCensus(t)
		if err := os.Remove(sink.TablePath(dir, "cards", november.Kind, november.Crawl)); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "x.html")
		_, errs, status := command(t, "report", "--data", dir, "--out", out)
		want := "The monthly crawl of 2026-11-01 has no file of the table cards"
		if status != exitDone || !strings.Contains(errs, want) {
			t.Errorf("status %d, %q", status, errs)
		}
		if page, err := os.ReadFile(out); err != nil || !strings.Contains(string(page), want) {
			t.Errorf("the page does not say so (%v)", err)
		}
	})
	t.Run("rows are gone", func(t *testing.T) {
		dir := writeCensus(t)
		put(t, dir, november, finch())
		put(t, dir, november, novemberSites()[1:]...)
		_, errs, _ := command(t, "summary", "--data", dir)
		if want := "The tables of the monthly crawl of 2026-11-01 do not add up: 1,999 of 2,000 sites, 1 of 4 cards are there."; !strings.Contains(errs, want) {
			t.Errorf("%q", errs)
		}
	})
	t.Run("nothing is gone", func(t *testing.T) {
		if s := summaryOf(t, writeCensus(t)); len(s.Doubts) > 0 {
			t.Errorf("%q", s.Doubts)
		}
	})
}

func TestDirectoriesWithOddNames(t *testing.T) {
	top := t.TempDir()
	t.Chdir(top)
	if err := os.Symlink(t.TempDir(), "link"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{top + "/it's [odd] * here?", top + `/ünï"code`, top + "/crawl=2020-01-01/kind=weekly", "relative", "../" + filepath.Base(top) + "/a b", "./link", "."} {
		t.Run(name, func(t *testing.T) {
			dir := name
			writeMonths(t, dir)
			if s := summaryOf(t, dir); s.Headline["cards"] != 5. {
				t.Errorf("headline: %v", s.Headline)
			}
			out := filepath.Join(dir, "page.html")
			if _, errs, status := command(t, "report", "--data", dir, "--out", out); status != exitDone {
				t.Error(errs)
			}
			c, err := openCensus(t.Context(), dir, dir)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := c.exportView(t.Context(), "crawls", filepath.Join(dir, "crawls.csv")); n != 2 || err != nil {
				t.Errorf("%d crawls exported, %v", n, err)
			}
			if err := c.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestADirectoryThatDuckDBCannotOpenIsNoBrokenFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "caf\xe9")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("this file system has no such name: %v", err)
	}
	writeMonths(t, dir)
	for _, args := range [][]string{{"summary", "--data", dir}, {"sql", "FROM crawls", "--data", dir}, {"export", "--data", writeCensus(t), "--csv", dir}} {
		_, errs, status := command(t, args...)
		if status != exitUsage || !strings.Contains(errs, `caf\xe9": the name is not UTF-8`) || !strings.Contains(errs, "rename the directory") {
			t.Errorf("%v: status %d, %q", args, status, errs)
		}
	}
	out := filepath.Join(dir, "census.html") // Go writes the page
	if _, errs, status := command(t, "report", "--data", writeCensus(t), "--out", out); status != exitDone {
		t.Errorf("status %d, %q", status, errs)
	}
}
