package sink

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

func TestTotalsAddUpToTheList(t *testing.T) {
	db := openDuck(t, writeCensus(t))
	want := []string{"2026-11-01 | 102 | 102 | 3 | 3", "2026-12-01 | 1000 | 1000 | 5 | 5", "2026-12-08 | 4 | 4 | 2 | 2"}
	got := answer(t, db, `SELECT crawl, entries, sum(t.sites), cards, sum(t.sites) FILTER (outcome = 'card')
		FROM crawls JOIN site_totals t USING (kind, crawl) GROUP BY ALL ORDER BY crawl`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestACrawlWithoutItsRowInCrawlsIsNotSeen(t *testing.T) {
	dir := writeCensus(t)
	db := openDuck(t, dir)
	for _, table := range []string{"cards", "site_totals", "adoption", "outcomes", "trend"} {
		if got := answer(t, db, "SELECT count(*) FROM "+table+" WHERE crawl = DATE '2026-12-15'"); got[0] != "0" {
			t.Errorf("%s shows %s rows of a crawl that is not published", table, got[0])
		}
	}
	put(t, dir, stopped, CrawlRow{})
	if got := answer(t, openDuck(t, dir), "SELECT site FROM cards WHERE crawl = DATE '2026-12-15'"); len(got) != 1 {
		t.Errorf("once published it has the cards %q", got)
	}
}

func TestACrawlThatFoundNoCardReadsFine(t *testing.T) {
	dir := t.TempDir()
	put[Card](t, dir, december)
	put(t, dir, december, SiteTotal{RankFrom: 1, RankTo: 100, Outcome: "not_found", Sites: 7})
	put[FetchTotal](t, dir, december)
	put(t, dir, december, CrawlRow{Entries: 7, Sites: 7})
	db := openDuck(t, dir)
	for query, want := range map[string]string{
		"SELECT count(*) FROM cards":                                                            "0",
		"SELECT cards, listed, readable, share_of_listed FROM adoption":                         "0 | 7 | 7 | 0.0",
		"SELECT cards, signed, share_of_listed FROM trend":                                      "0 | 0 | 0.0",
		"SELECT count(*) FROM read_parquet('" + pathOf[Card](dir, december) + "') WHERE signed": "0",
	} {
		if diff := cmp.Diff([]string{want}, answer(t, db, query)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", query, diff)
		}
	}
}

func TestTheLatestCrawlIsTheNewestMonthlyOne(t *testing.T) {
	dir := t.TempDir()
	latest := func() []string {
		return answer(t, openDuck(t, dir), "SELECT kind, crawl FROM crawls WHERE latest")
	}
	for _, step := range []struct {
		meta Meta
		want string
	}{
		{Meta{Kind: "adhoc", Crawl: "2026-12-20"}, "adhoc | 2026-12-20"},
		{Meta{Kind: "adhoc", Crawl: "2026-12-21"}, "adhoc | 2026-12-21"},
		{november, "monthly | 2026-11-01"},
		{december, "monthly | 2026-12-01"},
		{week, "monthly | 2026-12-01"},
	} {
		put(t, dir, step.meta, CrawlRow{})
		if diff := cmp.Diff([]string{step.want}, latest()); diff != "" {
			t.Errorf("after %v (-want +got)\n%s", step.meta, diff)
		}
	}
}

func TestTheWrittenViewsWorkFromTheirOwnDirectory(t *testing.T) {
	dir := writeCensus(t)
	if err := WriteViews(dir); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	script, err := os.ReadFile(ViewsFile)
	if err != nil {
		t.Fatal(err)
	}
	if questions, err := os.ReadFile(QuestionsFile); err != nil || string(questions) != questionsSQL {
		t.Errorf("the questions are not beside it: %v", err)
	}
	if strings.Contains(string(script), dir) {
		t.Error("the file names the directory it was made in")
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	run(t, db, string(script))
	run(t, db, string(script)) // it can be loaded again
	if got := answer(t, db, "SELECT site FROM latest_cards ORDER BY rank LIMIT 1"); got[0] != "aster.example" {
		t.Errorf("first card %q", got)
	}
}

func TestDirectoriesWithOddNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's [a] *census?")
	put(t, dir, december, CrawlRow{Cards: 7})
	if got := answer(t, openDuck(t, dir), "SELECT cards FROM crawls"); got[0] != "7" {
		t.Errorf("cards %q", got)
	}
}

// A card of two endpoints of different relation is still one card.
func TestACardCountsOnceForAPlatform(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, december, Card{Rank: 1, Site: "one.example", Interfaces: []Interface{{HostKind: "same_host"}, {HostKind: "other_site"}}})
	put(t, dir, december, CrawlRow{Cards: 1})
	for _, question := range Questions() {
		if question.Title != "Which platforms host the endpoints?" {
			continue
		}
		if diff := cmp.Diff([]string{"(own or other) | 1 | 2"}, answer(t, openDuck(t, dir), question.SQL)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		return
	}
	t.Error("nobody asks")
}

// Skills without ID and name are no sign of a common template.
func TestCardsWithNamelessSkillsAreNoClones(t *testing.T) {
	dir := t.TempDir()
	nameless := []Skill{{Tags: []string{"text"}}}
	put(t, dir, december, Card{Rank: 1, Site: "one.example", CanonSHA256: "aa", Skills: nameless}, Card{Rank: 2, Site: "two.example", CanonSHA256: "bb", Skills: nameless})
	put(t, dir, december, CrawlRow{Cards: 2})
	if got := answer(t, openDuck(t, dir), "SELECT basis, examples FROM template_clones"); len(got) != 0 {
		t.Errorf("clones %q", got)
	}
}

// oldCard and oldInterface are a layout before some of the columns were added.
type oldCard struct {
	Rank       int64          `parquet:"rank"`
	Site       string         `parquet:"site"`
	Interfaces []oldInterface `parquet:"interfaces,list"`
	Bindings   []string       `parquet:"bindings,list"`
	Signed     bool           `parquet:"signed"`
}

type oldInterface struct {
	URL     string `parquet:"url"`
	Binding string `parquet:"binding,dict"`
}

func writeOld(t *testing.T, dir string, meta Meta) {
	t.Helper()
	path := pathOf[Card](dir, meta)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	rows := []oldCard{{Rank: 3, Site: "old.example", Bindings: []string{"JSONRPC"}, Interfaces: []oldInterface{{URL: "https://old.example/", Binding: "JSONRPC"}}},
		{Rank: 4, Site: "older.example", Signed: true}}
	if err := parquet.WriteFile(path, rows, parquet.KeyValueMetadata("schema_version", "0"), parquet.KeyValueMetadata("note", "kept")); err != nil {
		t.Fatal(err)
	}
	put(t, dir, meta, CrawlRow{Cards: 2})
}

func TestAnOlderLayoutReadsThroughTheViews(t *testing.T) {
	for _, among := range []string{"alone", "beside newer files"} {
		t.Run(among, func(t *testing.T) {
			dir := t.TempDir()
			if among != "alone" {
				dir = writeCensus(t)
			}
			older := Meta{Kind: "monthly", Crawl: "2026-10-01"}
			writeOld(t, dir, older)
			db := openDuck(t, dir)
			for query, want := range map[string][]string{
				"SELECT site, signed, streaming, name FROM cards WHERE crawl = DATE '2026-10-01' ORDER BY rank": {
					"old.example | false | NULL | NULL", "older.example | true | NULL | NULL"},
				"SELECT url, binding, host, platform FROM interfaces WHERE crawl = DATE '2026-10-01'": {
					"https://old.example/ | JSONRPC | NULL | NULL"},
			} {
				if diff := cmp.Diff(want, answer(t, db, query)); diff != "" {
					t.Errorf("%s (-want +got)\n%s", query, diff)
				}
			}
			for _, question := range Questions() {
				answer(t, db, question.SQL)
			}
			for row, err := range ReadTable[Card](pathOf[Card](dir, older)) {
				if err != nil {
					t.Fatal(err)
				}
				if row.Name != nil || len(row.Interfaces) > 1 || row.Rank == 3 && row.Interfaces[0].URL != "https://old.example/" {
					t.Errorf("row %+v", row)
				}
			}
		})
	}
}

func TestTheSchemaIsWhatDuckDBSees(t *testing.T) {
	db := openDuck(t, writeCensus(t))
	for _, table := range Schema() {
		t.Run(table.Name, func(t *testing.T) {
			var want []string
			for _, column := range table.Columns {
				if column.Doc == "" {
					t.Errorf("%s has no meaning", column.Name)
				}
				want = append(want, column.Name+" | "+strings.ReplaceAll(column.Type, `"`, ""))
			}
			want = append(want, "latest | BOOLEAN")
			got := answer(t, db, "SELECT column_name, replace(column_type, '\"', '') FROM (DESCRIBE "+table.Name+")")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-schema +DuckDB)\n%s", diff)
			}
		})
	}
}

func TestTheSchemaInWords(t *testing.T) {
	var text strings.Builder
	if err := WriteSchema(&text); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"## cards",
		"One row a publisher and crawl. Sorted by rank.",
		"| `streaming` | BOOLEAN | yes | capabilities.streaming |",
		"| `skills` | STRUCT[] | no | skills in the card's order; the first 4096 |",
		"| `skills.tags` | VARCHAR[] | no | tags as written |",
		"| `security_requirements.schemes` | STRUCT[] | no | schemes needed together; none means anonymous |",
		"| `crawl` | DATE | no | start date of the crawl, UTC |",
	} {
		if !strings.Contains(text.String(), line+"\n") {
			t.Errorf("no line %q in\n%s", line, text.String())
		}
	}
}

// A directory above the census may look like a part of it, or like a column.
func TestOnlyTheCensusNamesKindAndCrawl(t *testing.T) {
	for _, above := range []string{"crawl=2020-01-01/kind=weekly", "site=other.example", "it's=[a]", "a=/b"} {
		t.Run(above, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), filepath.FromSlash(above))
			put(t, dir, november, Card{Rank: 1, Site: "one.example"})
			put(t, dir, november, CrawlRow{Cards: 1})
			put(t, dir, december, Card{Rank: 2, Site: "two.example"})
			put(t, dir, december, CrawlRow{Cards: 1})
			db := openDuck(t, dir)
			want := []string{"monthly | 2026-11-01 | 1 | one.example | false", "monthly | 2026-12-01 | 2 | two.example | true"}
			if diff := cmp.Diff(want, answer(t, db, "SELECT kind, crawl, rank, site, latest FROM cards ORDER BY rank")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			columns := answer(t, openDuck(t, t.TempDir()), "SELECT column_name, column_type FROM (DESCRIBE cards)")
			if diff := cmp.Diff(columns, answer(t, db, "SELECT column_name, column_type FROM (DESCRIBE cards)")); diff != "" {
				t.Errorf("its columns (-want +got)\n%s", diff)
			}
		})
	}
}
