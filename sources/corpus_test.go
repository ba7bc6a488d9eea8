package sources_test

import (
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentcensus/sources"
)

// lists is the directory of real lists, not kept with the code.
func lists(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("AGENTCENSUS_LISTS")
	if dir == "" {
		t.Skip("AGENTCENSUS_LISTS is not set")
	}
	return dir
}

// Every odd entry that was met or made has a decision here.
func TestEdgeEntries(t *testing.T) {
	refused := map[string]string{
		"_wildcard_.ph":        sources.ReasonUnderscore,
		"_wildcard_.org.ph":    sources.ReasonUnderscore,
		"_wildcard_.xn--ngbrx": sources.ReasonUnderscore,
		"121.in-addr.arpa":     sources.ReasonNotWeb,
		"23.in-addr.arpa":      sources.ReasonNotWeb,
		"ipv4only.arpa":        sources.ReasonNotWeb,
		"resolver.arpa":        sources.ReasonNotWeb,
		"inner-active-.mobi":   sources.ReasonHyphen,
		"xn--a.example":        sources.ReasonBadIDNA,
		"192.0.2.10":           sources.ReasonIPLiteral,
		"1.1":                  sources.ReasonIPLiteral,
		"0x7f.1":               sources.ReasonIPLiteral,
		"[2001:db8::1]":        sources.ReasonIPLiteral,
		"localhost":            sources.ReasonSpecialUse,
		"router.local":         sources.ReasonSpecialUse,
		"service.internal":     sources.ReasonSpecialUse,
		"home.arpa":            sources.ReasonSpecialUse,
		"site.onion":           sources.ReasonSpecialUse,
		"com":                  sources.ReasonSingleLabel,
		"a-very-long-label-of-more-than-sixty-three-octets-which-dns-cannot-carry.com": sources.ReasonLabelTooLong,
	}
	rewritten := map[string]string{
		"bücher.example": "xn--bcher-kva.example",
		"EXAMPLE.COM":    "example.com",
		"example.com.":   "example.com",
		" example.com ":  "example.com",
	}
	f, err := os.Open(filepath.Join(lists(t), "edge-entries.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		entry := row[0]
		want := entry // whatever is not named above is a name to crawl as it is
		if to, ok := rewritten[entry]; ok {
			want = to
		}
		got, err := sources.Normalise(entry)
		if reason, ok := refused[entry]; ok {
			var bad *sources.NameError
			if !errors.As(err, &bad) || bad.Reason != reason {
				t.Errorf("Normalise(%q) = %q, %v; want reason %s", entry, got, err, reason)
			}
			delete(refused, entry)
			continue
		}
		if err != nil || got != want {
			t.Errorf("Normalise(%q) = %q, %v; want %q", entry, got, err, want)
		}
	}
	for entry := range refused {
		t.Errorf("%q is not among the edge entries any more", entry)
	}
}

// A real million: every rank once, and no registered name refused.
func TestRealMillion(t *testing.T) {
	list, err := sources.Open(t.Context(), filepath.Join(lists(t), "top-1m.csv.zip"), sources.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := list.Info().Entries; got != 1_000_000 {
		t.Fatalf("%d entries", got)
	}
	refused := map[string]int{}
	rank := int64(0)
	for s, err := range list.Sites() {
		if err != nil {
			t.Fatal(err)
		}
		if rank++; s.Rank != rank {
			t.Fatalf("rank %d in place %d", s.Rank, rank)
		}
		if s.Invalid != "" {
			refused[s.Invalid]++
		}
	}
	if rank != 1_000_000 {
		t.Errorf("%d sites", rank)
	}
	t.Logf("refused: %v", refused)
	// Older lists hold addresses, reverse zones and a stray .onion. Nothing
	// else may be refused: all the rest were registered and looked up.
	for _, reason := range []string{sources.ReasonIPLiteral, sources.ReasonNotWeb, sources.ReasonUnderscore, sources.ReasonSpecialUse} {
		delete(refused, reason)
	}
	if diff := cmp.Diff(map[string]int{}, refused); diff != "" {
		t.Errorf("refused for their spelling (-want +got):\n%s", diff)
	}
}

// The cost of a list: Open reads it once, the crawl a second time.
func BenchmarkMillion(b *testing.B) {
	dir := os.Getenv("AGENTCENSUS_LISTS")
	if dir == "" {
		b.Skip("AGENTCENSUS_LISTS is not set")
	}
	open := func() *sources.List {
		list, err := sources.Open(b.Context(), filepath.Join(dir, "top-1m.csv.zip"), sources.Options{})
		if err != nil {
			b.Fatal(err)
		}
		return list
	}
	b.Run("Open", func(b *testing.B) {
		for b.Loop() {
			open()
		}
	})
	b.Run("Sites", func(b *testing.B) {
		b.ReportAllocs()
		list := open()
		for b.Loop() {
			for _, err := range list.Sites() {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
