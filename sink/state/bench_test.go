package state_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"agentcensus/sink/state"
)

// BenchmarkSite is the state's cost of one site's end at the default pace: four
// counters each, one site in 200 with a card of 20 KB that does not compress.
func BenchmarkSite(b *testing.B) {
	ctx := b.Context()
	path := filepath.Join(b.TempDir(), "crawl.db")
	s, err := state.Create(path, state.Header{Entries: state.MaxEntries}, state.Options{})
	check(b, err)
	card := noise(1, 20_000)
	const group = 60
	ranks := make([]int64, group)
	records := make([]state.Record, group)
	next := int64(1)
	for b.Loop() {
		if (next-1)%group == 0 {
			for i := range ranks {
				rank := next + int64(i)
				ranks[i] = rank
				records[i] = state.Record{Rank: rank}
				for c := range int64(4) {
					records[i].Counters = append(records[i].Counters, state.Counter{Key: fmt.Sprintf("fetch/path %d/reason %d", c, rank*(c+1)%37), Add: []int64{1, 3, 4096, 80}})
				}
				if rank%200 == 0 {
					records[i].Rows = []state.Row{{Table: "cards", Data: card}}
				}
			}
			for _, r := range records {
				check(b, s.End(ctx, r))
			}
		}
		next++
	}
	check(b, s.Flush(ctx))
	info, err := os.Stat(path)
	check(b, err)
	b.ReportMetric(float64(info.Size())/float64(next), "file-bytes/site")
	closeStore(b, s)
}

// BenchmarkBegin is the wait of one Begin with nobody for company.
func BenchmarkBegin(b *testing.B) {
	s, err := state.Create(filepath.Join(b.TempDir(), "crawl.db"), state.Header{Entries: state.MaxEntries}, quick)
	check(b, err)
	rank := int64(0)
	for b.Loop() {
		rank++
		check(b, s.Begin(b.Context(), []int64{rank}))
	}
	closeStore(b, s)
}

// BenchmarkOpen is the check of a file of 1,000,000 entries and 5,000 rows.
func BenchmarkOpen(b *testing.B) {
	ctx := b.Context()
	path := filepath.Join(b.TempDir(), "crawl.db")
	s, err := state.Create(path, state.Header{Entries: 1_000_000}, state.Options{})
	check(b, err)
	for rank := int64(200); rank <= 1_000_000; rank += 200 {
		check(b, s.End(ctx, state.Record{Rank: rank, Rows: []state.Row{{Table: "cards", Data: noise(uint64(rank), 4000)}}}))
	}
	closeStore(b, s)
	for b.Loop() {
		s, err := state.Open(path, state.Options{})
		check(b, err)
		closeStore(b, s)
	}
}
