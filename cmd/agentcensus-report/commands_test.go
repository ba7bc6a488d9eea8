package main

import (
	"crypto/sha256"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentcensus/sink"
)

func TestSummaryHasTheNumbersOfThePage(t *testing.T) {
	dir := writeCensus(t)
	s := summaryOf(t, dir)
	found := make(map[string][]string)
	for _, e := range s.Exhibits {
		for _, row := range e.Rows {
			var cells []string
			for _, column := range e.Columns {
				text := fmt.Sprint(row[column])
				if v, ok := row[column].(float64); ok && !isShare(column) {
					text = count(v)
				}
				cells = append(cells, text)
			}
			found[e.ID] = append(found[e.ID], strings.Join(cells, " | "))
		}
	}
	if diff := cmp.Diff(truth, found); diff != "" {
		t.Errorf("--json (-truth +summary)\n%s", diff)
	}
	want := map[string]any{"kind": "monthly", "crawl": "2026-11-01", "cards": 5., "listed": 1980., "readable": 1200., "share_of_listed": 5. / 1980,
		"share_of_readable": 5. / 1200, "described": 4., "supporting_1_0": 2., "share_1_0": .5, "signed": 1., "share_signed": .25, "with_schemes": 2.,
		"share_with_schemes": .5, "previous_crawl": "2026-10-01", "appeared": 2., "gone": 1., "week": "2026-11-09", "publishers": 5., "up": 2., "down": 1., "share_up": 2. / 3}
	if diff := cmp.Diff(want, s.Headline); diff != "" {
		t.Errorf("headline (-truth +summary)\n%s", diff)
	}

	text, errs, status := command(t, "summary", "--data", dir)
	if status != exitDone || errs != "" {
		t.Fatalf("status %d, %q", status, errs)
	}
	lines := make(map[string]bool)
	for line := range strings.Lines(text) {
		lines[strings.Join(strings.Fields(line), " ")] = true
	}
	for _, line := range []string{"Cards 5 sites that publish an Agent Card", "Share of readable sites 0.417% 5 of 1,200",
		"501 1,000 2 500 252 0.4% 0.794%", "2026-11-09 5 2 1 1 1 66.7% 80", "ask (mail address) now 1 1 25%", "run.app 1 2"} {
		if !lines[line] {
			t.Errorf("the summary has no line %q", line)
		}
	}
	if strings.ContainsAny(text, "\x1b\u202e") {
		t.Error("the summary has control characters of a card")
	}
}

// Whoever copies the SQL of an exhibit gets its table.
func TestTheSQLOfEveryExhibitRuns(t *testing.T) {
	c, err := openCensus(t.Context(), writeCensus(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	}()
	for _, chapter := range chapters {
		for _, e := range chapter.exhibits {
			t.Run(e.id, func(t *testing.T) {
				query, err := statement(nil, e.sql+";\n")
				if err != nil {
					t.Fatal(err)
				}
				found := 0
				err = c.answer(t.Context(), query, false, func(names []string, rows *sql.Rows) error {
					return eachRow(names, rows, func([]sql.NullString) error { found++; return nil })
				})
				if err != nil || found != len(truth[e.id]) {
					t.Errorf("%d rows, want %d: %v", found, len(truth[e.id]), err)
				}
			})
		}
	}
}

func TestSQL(t *testing.T) {
	dir := writeCensus(t)
	for _, check := range []struct{ name, format, query, want string }{
		{"a table", "table", "SELECT site, streaming, push_notifications FROM latest_cards ORDER BY rank LIMIT 3",
			"site           streaming  push_notifications\nfinch.example  true       false\nheron.example  true       NULL\nibis.example   false      NULL\n"},
		{"a table is printable", "table", "SELECT tags FROM skills WHERE site = 'lark.example' AND position = 2", "tags\n['safegnp.exe[2J']\n"},
		{"CSV tells NULL from empty", "csv", `SELECT NULL AS a, '' AS b, 'x,"y"' AS "c d", 1.5 AS e`, "a,b,c d,e\n,\"\",\"x,\"\"y\"\"\",1.5\n"},
		{"CSV has times in UTC", "csv", "SELECT started, crawl FROM crawls WHERE latest", "started,crawl\n2026-11-01 04:00:00+00,2026-11-01\n"},
		{"JSON is typed and nested", "json", "SELECT rank, name, signed, bindings, interfaces[1].host AS host, crawl FROM latest_cards ORDER BY rank LIMIT 2",
			`{"rank":7,"name":"Finch","signed":true,"bindings":[],"host":"finch-1.eu.run.app","crawl":"2026-11-01"}` + "\n" +
				`{"rank":300,"name":null,"signed":false,"bindings":[],"host":"heron.example","crawl":"2026-11-01"}` + "\n"},
		{"JSON has null for numbers that it does not have", "json", `SELECT 'nan'::DOUBLE AS a, 'inf'::FLOAT AS b, ['-inf'::DOUBLE, 1] AS "-Infinity", {'x': '-nan'::DOUBLE} AS d, '"\\' AS e, 'nan'::DOUBLE AS f, ',NaN,"' AS g, '[nan,-inf,{"a":Infinity}]'::JSON AS h`,
			`{"a":null,"b":null,"-Infinity":[null,1.0],"d":{"x":null},"e":"\"\\\\","f":null,"g":",NaN,\"","h":[null,null,{"a":null}]}` + "\n"},
		{"order is kept", "csv", "SELECT site FROM cards WHERE latest ORDER BY site DESC", "site\nlark.example\nibis.example\nheron.example\nfinch.example\n"},
		{"a comment at the end", "csv", "SELECT 1 AS one -- the first", "one\n1\n"},
		{"a description", "csv", "SELECT column_name FROM (DESCRIBE crawls) LIMIT 2", "column_name\nkind\ncrawl\n"},
		{"the tool's own function", "csv", "SELECT registrable_domain('a.b.run.app:443') AS d, registrable_domain(NULL) IS NULL AS n", "d,n\nrun.app,true\n"},
	} {
		t.Run(check.name, func(t *testing.T) {
			out, errs, status := command(t, "sql", "--data", dir, "--format", check.format, check.query)
			if status != exitDone || errs != "" {
				t.Fatalf("status %d, %q", status, errs)
			}
			if diff := cmp.Diff(check.want, out); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	t.Run("from standard input", func(t *testing.T) {
		out, errs, status := commandWith(t, "SELECT 1 AS one\n;\n", "sql", "--data", dir, "--format", "csv", "-")
		if status != exitDone || out != "one\n1\n" {
			t.Errorf("status %d, %q, %q", status, out, errs)
		}
	})
	t.Run("statements that are no SELECT", func(t *testing.T) {
		for query, part := range map[string]string{"SHOW TABLES": "latest_cards", "DESCRIBE cards": "canonical_sha256", "SUMMARIZE crawls": "list_source", "FROM crawls": "K2X9W"} {
			for _, format := range []string{"table", "json"} {
				out, errs, status := command(t, "sql", "--data", dir, "--format", format, query)
				if status != exitDone || !strings.Contains(out, part) {
					t.Errorf("%s as %s: status %d, %q, %q", query, format, status, out, errs)
				}
				if line, _, _ := strings.Cut(out, "\n"); format == "json" && !json.Valid([]byte(line)) {
					t.Errorf("%s: not JSON: %s", query, line)
				}
			}
		}
	})
}

func TestSQLTakesEveryKindOfQuery(t *testing.T) {
	dir := writeCensus(t)
	for query, want := range map[string]string{
		"VALUES (1), (2)":                                                      "col0\n1\n2\n",
		"WITH a AS (SELECT 1 AS b) FROM a":                                     "b\n1\n",
		"(SELECT 1 AS a) UNION ALL (SELECT 2) ORDER BY a":                      "a\n1\n2\n",
		"SELECT ';' AS a -- ; COPY":                                            "a\n;\n",
		"/* ; */ SELECT 1 AS a":                                                "a\n1\n",
		"PIVOT crawls ON kind IN ('weekly') USING count(*) GROUP BY simulated": "simulated,weekly\nfalse,1\n",
		"PIVOT (SELECT kind FROM crawls) ON kind USING count(*)":               "monthly,weekly\n2,1\n",
		"WITH p AS (PIVOT (SELECT kind FROM crawls) ON kind USING count(*)) SELECT weekly FROM p -- ;": "weekly\n1\n",
		"UNPIVOT (SELECT 1 AS a, 2 AS b) ON a, b":                                                      "name,value\na,1\nb,2\n",
		"SELECT count(*) AS n FROM (SHOW TABLES) WHERE name = 'cards'":                                 "n\n1\n",
		"SELECT column_name FROM (SUMMARIZE SELECT 1 AS a)":                                            "column_name\na\n",
		"DESCRIBE SELECT 1 AS a":                                                                       "column_name,column_type,null,key,default,extra\na,INTEGER,YES,,,\n",
	} {
		if out, errs, status := command(t, "sql", "--data", dir, "--format", "csv", query); status != exitDone || out != want {
			t.Errorf("%s: status %d, %q, %q", query, status, out, errs)
		}
	}
	for query, part := range map[string]string{"EXPLAIN FROM crawls": "PARQUET", "-- a plan\nexplain analyze\nSELECT count(*) FROM crawls;": "Total Time"} {
		if out, errs, status := command(t, "sql", "--data", dir, "--format", "csv", query); status != exitDone || !strings.Contains(out, part) {
			t.Errorf("%s: status %d, %q, %q", query, status, out, errs)
		}
	}
}

// Nothing outside of the census is read, nothing anywhere is written.
func TestSQLOnlyReadsTheCensus(t *testing.T) {
	top := t.TempDir()
	t.Chdir(top)
	dir, secret := filepath.Join(top, "census"), filepath.Join(top, "secret.csv")
	writeMonths(t, dir)
	if err := os.WriteFile(secret, []byte("word\nsesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := allFiles(t, top)
	file := sink.TablePath(dir, "crawls", november.Kind, november.Crawl)
	for _, query := range []string{
		"COPY (SELECT 1) TO 'out.csv'",
		"COPY (SELECT 1) TO 'census/data/out.csv'",
		"COPY (SELECT 1) TO '" + file + "'",
		"EXPLAIN ANALYZE COPY (SELECT 1) TO '" + file + "'",
		"/* /* */ EXPLAIN SELECT 1 -- */\n*/ ; COPY (SELECT 1) TO '" + file + "'",
		"COPY (SELECT 1) TO '" + file + "'; SELECT 1",
		"EXPLAIN SELECT 1; COPY (SELECT 1) TO '" + file + "'",
		"SELECT 1) ; COPY (SELECT 1) TO '" + file + "'; (SELECT 2",
		"SELECT 1\n); COPY (SELECT 1) TO '" + file + "' --",
		"PIVOT crawls ON kind USING count(*); COPY (SELECT 1) TO '" + file + "'",
		"COPY (SELECT 1) TO '" + file + "'; PIVOT crawls ON kind USING count(*)",
		"FROM query('COPY (SELECT 1) TO ''" + file + "''')",
		"FROM enable_logging(storage = 'file', storage_config = {'path': 'log'}, level = 'debug')",
		"FROM enable_logging(storage = 'file', storage_config = {'path': 'census/data/log'}, level = 'debug')",
		"FROM enable_logging(storage = 'file', storage_config = {'path': '" + file + "'}, level = 'debug')",
		"ATTACH 'out.db'", "ATTACH 'census/data/out.db'", "ATTACH '" + file + "'",
		"EXPORT DATABASE 'out'", "IMPORT DATABASE 'out'", "INSTALL httpfs", "LOAD httpfs",
		"SET enable_external_access = true", "SET threads = 1", "RESET lock_configuration",
		"CREATE TABLE a (b INTEGER)", "DROP VIEW cards", "CALL pragma_version()", "PREPARE a AS SELECT 1", "BEGIN",
		"SELECT * FROM read_csv('secret.csv')", "SELECT * FROM read_csv('" + secret + "')", "FROM 'secret.csv'",
		"FROM read_text('census/data/../../secret.csv')", "FROM read_blob('" + filepath.Dir(file) + "/../../../../../secret.csv')",
		"FROM glob('*')", "FROM read_parquet('https://aster.example/cards.parquet')",
	} {
		out, errs, status := command(t, "sql", "--data", dir, "--format", "csv", query)
		logs := strings.Contains(query, "enable_logging") // it may say yes, and then can write nothing
		if !logs && (status != exitUsage || out != "" || strings.Contains(errs, "sesame")) {
			t.Errorf("%s: status %d, %q, %q", query, status, out, errs)
		}
		if diff := cmp.Diff(before, allFiles(t, top)); diff != "" {
			t.Fatalf("%s (-before +after)\n%s", query, diff)
		}
	}
	for query, want := range map[string]string{"SET threads = 1": "sql only reads: ", "FROM 'secret.csv'": "nothing but the census", "SELECT 1; DROP VIEW cards": "sql takes one statement at a time"} {
		if _, errs, _ := command(t, "sql", "--data", dir, query); !strings.Contains(errs, want) {
			t.Errorf("%s: %q has not %q", query, errs, want)
		}
	}
}

// allFiles are the files under dir with what is in them.
func allFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			files[path] = "a directory"
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = fmt.Sprintf("%d bytes, %x", len(text), sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestExportWritesEveryTableAndView(t *testing.T) {
	dir, out := writeCensus(t), filepath.Join(t.TempDir(), "new", "tables")
	printed, errs, status := command(t, "export", "--data", dir, "--csv", out)
	if status != exitDone || errs != "" {
		t.Fatalf("status %d, %q", status, errs)
	}
	read := func(name string) [][]string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(out, name+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	for name, rows := range map[string]int{"crawls": 3, "cards": 9, "site_totals": 28, "fetch_totals": 6, "checks": 5, "adoption": 7, "uptime": 1, "churn": 2, "trend": 2} {
		if got := len(read(name)) - 1; got != rows {
			t.Errorf("%s: %d rows, want %d", name, got, rows)
		}
		if line := fmt.Sprintf("%s.csv\t%d rows\n", filepath.Join(out, name), rows); !strings.Contains(printed, line) {
			t.Errorf("it does not print %q", line)
		}
	}
	for _, table := range sink.Schema() {
		header := read(table.Name)[0]
		for i, column := range table.Columns {
			if i >= len(header) || header[i] != column.Name {
				t.Errorf("%s: the columns are %v", table.Name, header)
				break
			}
		}
	}
	cards := read("cards")
	for i, column := range cards[0] {
		if column == "skills" && cards[4][i] != `[{"id":"sing","name":null,"tags":["Music","text"]},{"id":"hum","name":null,"tags":["music "]}]` {
			t.Errorf("nested: %s", cards[4][i])
		}
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err != nil || filepath.Ext(entry.Name()) != ".csv" || info.Mode().Perm() != 0o644 {
			t.Errorf("%s: %v, %v", entry.Name(), info.Mode(), err)
		}
	}
}

func TestSimulatedDataSaySo(t *testing.T) {
	dir := t.TempDir()
	meta := sink.Meta{Kind: "adhoc", Crawl: "2026-11-01", Simulated: true}
	put(t, dir, meta, lark())
	put(t, dir, meta, sink.SiteTotal{RankFrom: 50001, RankTo: 100000, Outcome: "card", Sites: 1})
	put[sink.FetchTotal](t, dir, meta)
	put(t, dir, meta, sink.CrawlRow{ListSource: "simulated", Simulated: true, Entries: 1, Sites: 1, Cards: 1})
	page, _ := pageOf(t, dir)
	if !strings.Contains(page, "<title>Simulated: ") || !strings.Contains(page, "Nothing on this page is about the web.") {
		t.Error("the page does not say that the data are simulated")
	}
	if out, _, _ := command(t, "summary", "--data", dir); !strings.HasPrefix(out, "SIMULATED") {
		t.Errorf("the summary begins %.60q", out)
	}
	if !summaryOf(t, dir).Simulated {
		t.Error("--json does not say that the data are simulated")
	}
	if real, _ := pageOf(t, writeCensus(t)); strings.Contains(real, "Simulated") {
		t.Error("the page of real data speaks of simulated ones")
	}
}
