package main

import (
	"database/sql"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agentcensus/pipeline/simweb"
)

// What analysts can read of a crawl names no site without a card: DuckDB reads
// every column of every file as text, whatever its type and however deep a
// string lies, and no such name is in it (P10). It is found where it is planted.
func TestAnalystsFindNoSiteWithoutACard(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the crawler")
	}
	const sites, seed = 300, 83
	dir := t.TempDir()
	crawler, out := filepath.Join(dir, "agentcensus"), filepath.Join(dir, "out")
	must(t, dir, "go", "build", "-o", crawler, "agentcensus/cmd/agentcensus")
	must(t, dir, crawler, "crawl", "--simulate", "300", "--seed", "83", "--profile", "flat", "--out", out)

	web, err := simweb.Start(t.Context(), simweb.Config{Seed: seed, Profile: simweb.Flat, Log: simweb.LogCounters})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := web.Close(); err != nil {
			t.Error(err)
		}
	}()
	secret, public := map[string]bool{}, map[string]bool{}
	for rank, name := range web.Names(sites) {
		apex := strings.TrimPrefix(name, "www.")
		if web.Fate(rank, name).Card != nil {
			public[apex], public["www."+apex] = true, true
		} else {
			secret[apex], secret["www."+apex] = true, true
		}
	}

	files, err := filepath.Glob(filepath.Join(out, "data", "*", "*", "*", "*.parquet"))
	if err != nil || len(files) != 4 {
		t.Fatalf("tables %v, %v", files, err)
	}
	published := 0
	for _, file := range files {
		for name := range namesIn(t, "read_parquet('"+file+"')") {
			if public[name] {
				published++
			} else if secret[name] {
				t.Errorf("%s names %s, which has no card", filepath.Base(file), name)
			}
		}
	}
	if published == 0 {
		t.Error("no publisher is found either: the search finds nothing")
	}
	const planted = "(SELECT 7 AS n, [{'notes': MAP {'see': ['https://Amber-Works-9.example/x']}}] AS deep)"
	if found := namesIn(t, planted); !found["amber-works-9.example"] {
		t.Errorf("planted and not found: %v", found)
	}
}

// nameText is whatever may be a name.
var nameText = regexp.MustCompile(`[a-z0-9_-]+(\.[a-z0-9_-]+)+`)

// namesIn are the names in all values of a relation.
func namesIn(t *testing.T, relation string) map[string]bool {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	rows, err := db.QueryContext(t.Context(), "SELECT lower(to_json(r)::VARCHAR) FROM "+relation+" AS r")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	found := map[string]bool{}
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		for _, name := range nameText.FindAllString(text, -1) {
			found[name] = true
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// must runs a command that has to succeed.
func must(t *testing.T, dir string, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	if name != "go" { // which has to stand in the module
		cmd.Dir = dir
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, text)
	}
}
