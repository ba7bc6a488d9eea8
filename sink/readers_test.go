package sink

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"
)

// fullCensus returns the rows of each table of the census that has the fullest
// rows.
func fullCensus(t *testing.T) (cards []Card, sites []SiteTotal, fetches []FetchTotal, checks []Check) {
	t.Helper()
	return []Card{aster(), birch(), cedar(), dahlia()}, decemberSites(), decemberFetches(), weekChecks(t)
}

func TestEveryReaderSeesTheRowsThatWereWritten(t *testing.T) {
	dir := writeCensus(t)
	db := openDuck(t, dir)
	cards, sites, fetches, checks := fullCensus(t)
	t.Run("cards", func(t *testing.T) { sameForAll(t, db, pathOf[Card](dir, december), cards) })
	t.Run("site_totals", func(t *testing.T) { sameForAll(t, db, pathOf[SiteTotal](dir, december), sites) })
	t.Run("fetch_totals", func(t *testing.T) { sameForAll(t, db, pathOf[FetchTotal](dir, december), fetches) })
	t.Run("checks", func(t *testing.T) { sameForAll(t, db, pathOf[Check](dir, week), checks) })
	t.Run("crawls", func(t *testing.T) {
		sameForAll(t, db, pathOf[CrawlRow](dir, december), []CrawlRow{{SchemaVersion: SchemaVersion, ListSource: "tranco", ListID: "ABCD1",
			Entries: 1000, Sites: 1000, Cards: 5, Suppressed: 1, OptedOut: 3, Requests: 2400, Started: micros(1), Finished: micros(2),
			Settings: `{"in_flight":60}`}})
	})
}

// sameForAll compares what DuckDB, arrow-go and ReadTable see in a file.
func sameForAll[T Row](t *testing.T, db *sql.DB, path string, rows []T) {
	t.Helper()
	var want []map[string]any
	for _, row := range rows {
		want = append(want, plain(row))
	}
	if diff := cmp.Diff(want, duckRows(t, db, "SELECT * FROM read_parquet('"+path+"', hive_partitioning = false)")); diff != "" {
		t.Errorf("DuckDB (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(want, arrowRows(t, path)); diff != "" {
		t.Errorf("arrow-go (-want +got)\n%s", diff)
	}
	var own []map[string]any
	for row, err := range ReadTable[T](path) {
		if err != nil {
			t.Fatal(err)
		}
		own = append(own, plain(row))
	}
	if diff := cmp.Diff(want, own); diff != "" {
		t.Errorf("ReadTable (-want +got)\n%s", diff)
	}
}

// duckRows returns the rows of a query by column, as the driver hands them out.
func duckRows(t *testing.T, db *sql.DB, query string) []map[string]any {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var found []map[string]any
	for rows.Next() {
		values, targets := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		row := make(map[string]any)
		for i, name := range names {
			row[name] = duckValue(values[i])
		}
		found = append(found, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

func duckValue(value any) any {
	switch value := value.(type) {
	case time.Time:
		return value.UTC()
	case []any:
		for i := range value {
			value[i] = duckValue(value[i])
		}
	case map[string]any:
		for name := range value {
			value[name] = duckValue(value[name])
		}
	}
	return value
}

func arrowRows(t *testing.T, path string) []map[string]any {
	t.Helper()
	reader, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	}()
	arrowReader, err := pqarrow.NewFileReader(reader, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	table, err := arrowReader.ReadTable(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	rows := make([]map[string]any, table.NumRows())
	for i := range rows {
		rows[i] = make(map[string]any)
	}
	for c := range int(table.NumCols()) {
		column, i := table.Column(c), 0
		for _, chunk := range column.Data().Chunks() {
			for j := range chunk.Len() {
				rows[i][column.Name()] = arrowValue(t, chunk, j)
				i++
			}
		}
	}
	return rows
}

func TestFalseAndNullAndEmptyStayApart(t *testing.T) {
	db := openDuck(t, writeCensus(t))
	for _, check := range []struct{ name, query, want string }{
		{"a boolean", "SELECT streaming, push_notifications, extended_card FROM latest_cards WHERE rank = 1", "true | false | NULL"},
		{"a header", "SELECT etag, last_modified, content_type FROM latest_cards WHERE rank IN (1, 150) ORDER BY rank LIMIT 1", `"1" |  | application/json`},
		{"no header", "SELECT etag, last_modified, content_type FROM latest_cards WHERE rank = 150", "NULL | NULL | NULL"},
		{"a boolean in a nested list", "SELECT list_transform(extensions, lambda e: e.required) FROM latest_cards WHERE rank IN (150)", "[true, NULL]"},
		{"false in a nested list", "SELECT list_transform(extensions, lambda e: e.required) FROM latest_cards WHERE rank IN (2000)", "[false]"},
		{"changes known", "SELECT skills_added, skills_removed, signature_added, signature_removed FROM checks WHERE rank = 1", "[plan] | [Sing] | true | false"},
		{"no changes", "SELECT skills_added, skills_removed, body_changed FROM checks WHERE rank = 150", "[] | [] | false"},
		{"changes not known", "SELECT skills_added, skills_removed, body_changed, card_gone FROM checks WHERE rank = 200000", "NULL | NULL | NULL | NULL"},
		{"a card gone", "SELECT card_gone, card_appeared, body_changed, a2a_version_before, a2a_version_after FROM checks WHERE rank = 2000", "true | false | NULL | 1.0 | NULL"},
		{"an anonymous alternative", "SELECT list_transform(security_requirements, lambda r: len(r.schemes)) FROM latest_cards WHERE rank = 2000", "[0, 2]"},
		{"a totals row without HTTP answer", "SELECT http_status FROM fetch_totals WHERE outcome = 'robots_disallowed'", "NULL"},
	} {
		t.Run(check.name, func(t *testing.T) {
			if diff := cmp.Diff([]string{check.want}, answer(t, db, check.query)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestNestedListsUnnest(t *testing.T) {
	db := openDuck(t, writeCensus(t))
	for _, check := range []struct {
		view  string
		query string
		want  []string
	}{
		{"skills", "SELECT site, position, id, name, tags FROM skills WHERE latest ORDER BY rank, position", []string{
			"aster.example | 1 | find | Find | [Search, text]", "aster.example | 2 | plan | NULL | ['search ', '']",
			"birch.example | 1 | echo | NULL | [text]", "cedar.example | 1 | echo | NULL | [text]"}},
		{"interfaces", "SELECT position, url, binding, version, host, platform FROM interfaces WHERE latest AND rank = 150 ORDER BY position", []string{
			"1 | https://birch-x7.a.run.app/ | JSONRPC | 1.0 | birch-x7.a.run.app | run.app",
			"2 | birch-x7.a.run.app:443 | GRPC | 1.0 | birch-x7.a.run.app:443 | run.app"}},
		{"security_schemes", "SELECT name, type, api_key_in, oauth_flows FROM security_schemes WHERE latest AND rank = 2000 ORDER BY position", []string{
			"key | apiKey | header | []", "login | oauth2 | NULL | [authorizationCode, clientCredentials]"}},
		{"scopes", "SELECT unnest(r.schemes[1].scopes) FROM (SELECT unnest(security_requirements) AS r FROM latest_cards WHERE rank = 1)", []string{
			"read", "write"}},
	} {
		t.Run(check.view, func(t *testing.T) {
			if diff := cmp.Diff(check.want, answer(t, db, check.query)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
