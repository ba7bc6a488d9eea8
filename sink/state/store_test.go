package state_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"agentcensus/sink/state"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(childEnv); mode != "" {
		os.Exit(child(mode))
	}
	goleak.VerifyTestMain(m)
}

// contents is all a state file holds, to be compared.
type contents struct {
	Settings string
	Begun    []int64
	Ended    []int64
	Counters map[string][]int64
	Rows     map[string]map[int64]string
}

func read(s *state.Store, tables ...string) (contents, error) {
	c := contents{Settings: string(s.Header().Settings), Counters: s.Counters(), Rows: map[string]map[int64]string{}}
	for rank := int64(1); rank <= s.Header().Entries; rank++ {
		if s.Begun(rank) {
			c.Begun = append(c.Begun, rank)
		}
		if s.Ended(rank) {
			c.Ended = append(c.Ended, rank)
		}
	}
	for _, table := range tables {
		rows, last := map[int64]string{}, int64(0)
		for row, err := range s.Rows(table) {
			if err != nil {
				return c, err
			}
			if row.Rank <= last {
				return c, fmt.Errorf("rank %d of %s comes after %d", row.Rank, table, last)
			}
			last = row.Rank
			rows[row.Rank] = string(row.Data)
		}
		c.Rows[table] = rows
	}
	return c, nil
}

func mustRead(t *testing.T, path string, tables ...string) contents {
	t.Helper()
	s, err := state.Open(path, state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	c, err := read(s, tables...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func create(t testing.TB, entries int64) (*state.Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "crawl.db")
	s, err := state.Create(path, state.Header{Entries: entries, Settings: []byte(`{"policy":"strict"}`)}, quick)
	if err != nil {
		t.Fatal(err)
	}
	return s, path
}

// quick commits at once, so that tests need not wait for company.
var quick = state.Options{BeginDelay: time.Microsecond, EndDelay: time.Microsecond}

func closeStore(t testing.TB, s *state.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatWasWrittenIsReadBack(t *testing.T) {
	ctx := t.Context()
	s, path := create(t, 10_000)
	check(t, s.Begin(ctx, []int64{1, 2, 3, 4096, 4097, 10_000}))
	check(t, s.End(ctx, state.Record{
		Rank:     2,
		Counters: []state.Counter{{Key: "a", Add: []int64{1, 2}}, {Key: "b", Add: []int64{-3}}},
		Rows:     []state.Row{{Table: "cards", Data: []byte("two")}, {Table: "checks", Data: nil}},
	}))
	check(t, s.End(ctx, state.Record{Rank: 4097, Counters: []state.Counter{{Key: "a", Add: []int64{1, 0, 7}}}}))
	check(t, s.End(ctx, state.Record{Rank: 1, Rows: []state.Row{{Table: "cards", Data: bytes.Repeat([]byte("long "), 100_000)}}}))
	check(t, s.End(ctx, state.Record{Rank: 9}))
	check(t, s.Flush(ctx))
	if got, want := slices.Collect(s.Interrupted()), []int64{3, 4096, 10_000}; !slices.Equal(got, want) {
		t.Errorf("under way: %v, want %v", got, want)
	}
	if ended, open := s.Progress(); ended != 4 || open != 3 {
		t.Errorf("%d ended and %d open, want 4 and 3", ended, open)
	}
	closeStore(t, s)

	want := contents{
		Settings: `{"policy":"strict"}`,
		Begun:    []int64{1, 2, 3, 9, 4096, 4097, 10_000},
		Ended:    []int64{1, 2, 9, 4097},
		Counters: map[string][]int64{"a": {2, 2, 7}, "b": {-3}},
		Rows: map[string]map[int64]string{
			"cards":  {1: string(bytes.Repeat([]byte("long "), 100_000)), 2: "two"},
			"checks": {2: ""},
			"none":   {},
		},
	}
	if diff := cmp.Diff(want, mustRead(t, path, "cards", "checks", "none")); diff != "" {
		t.Error(diff)
	}
}

func TestBeginIsDurableWhenItReturns(t *testing.T) {
	ctx := t.Context()
	s, path := create(t, 100)
	defer closeStore(t, s)
	for rank := int64(1); rank <= 5; rank++ {
		check(t, s.Begin(ctx, []int64{rank}))
		if got := mustRead(t, copyOf(t, path)); !slices.Contains(got.Begun, rank) {
			t.Fatalf("rank %d has begun, but the file says only %v", rank, got.Begun)
		}
	}
}

func TestEveryCommitLeavesAWholeFile(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "crawl.db")
	var copies []string
	options := quick
	options.Committed = func(time.Duration) { copies = append(copies, copyOf(t, path)) }
	s, err := state.Create(path, state.Header{Entries: 50}, options)
	check(t, err)
	for rank := int64(1); rank <= 30; rank++ {
		check(t, s.Begin(ctx, []int64{rank}))
		check(t, s.End(ctx, state.Record{
			Rank:     rank,
			Counters: []state.Counter{{Key: "sites", Add: []int64{1}}},
			Rows:     []state.Row{{Table: "cards", Data: fmt.Append(nil, rank)}},
		}))
	}
	closeStore(t, s)
	for _, path := range copies {
		got := mustRead(t, path, "cards")
		n := len(got.Ended)
		if len(got.Rows["cards"]) != n || (n > 0 && got.Counters["sites"][0] != int64(n)) {
			t.Fatalf("%d ended, %d rows, counters %v", n, len(got.Rows["cards"]), got.Counters)
		}
	}
	if len(copies) < 30 {
		t.Errorf("%d commits for 30 that waited one by one", len(copies))
	}
}

func TestNothingBeginsOrEndsTwice(t *testing.T) {
	ctx := t.Context()
	s, _ := create(t, 10)
	defer closeStore(t, s)
	check(t, s.Begin(ctx, []int64{1, 2}))
	check(t, s.End(ctx, state.Record{Rank: 2}))
	for name, call := range map[string]func() error{
		"begin a begun rank":        func() error { return s.Begin(ctx, []int64{3, 1}) },
		"begin an ended rank":       func() error { return s.Begin(ctx, []int64{2}) },
		"begin one twice in a call": func() error { return s.Begin(ctx, []int64{4, 4}) },
		"begin rank 0":              func() error { return s.Begin(ctx, []int64{0}) },
		"begin past the list":       func() error { return s.Begin(ctx, []int64{11}) },
		"end an ended rank":         func() error { return s.End(ctx, state.Record{Rank: 2}) },
		"end past the list":         func() error { return s.End(ctx, state.Record{Rank: 11}) },
	} {
		if err := call(); !errors.As(err, new(*state.RankError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.Begun(3) || s.Begun(4) {
		t.Error("a refused Begin marked ranks")
	}
	check(t, s.Begin(ctx, []int64{3, 4}))
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crawl.db")
	s, err := state.Create(path, state.Header{Entries: 10}, state.Options{BeginDelay: time.Hour, EndDelay: time.Hour})
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Begin(ctx, []int64{1}); !errors.Is(err, context.Canceled) {
		t.Errorf("Begin: %v", err)
	}
	closeStore(t, s) // commits what is pending
	if got := mustRead(t, path).Begun; !slices.Equal(got, []int64{1}) {
		t.Errorf("begun: %v", got)
	}
	if err := s.Begin(t.Context(), []int64{2}); !errors.Is(err, state.ErrClosed) {
		t.Errorf("Begin after Close: %v", err)
	}
	if err := s.End(t.Context(), state.Record{Rank: 2}); !errors.Is(err, state.ErrClosed) {
		t.Errorf("End after Close: %v", err)
	}
}

func TestCreateNeverTakesThePlaceOfAFile(t *testing.T) {
	s, path := create(t, 10)
	closeStore(t, s)
	if _, err := state.Create(path, state.Header{}, quick); !errors.Is(err, os.ErrExist) {
		t.Errorf("Create over a state: %v", err)
	}
}

func TestOpenWithoutAFile(t *testing.T) {
	if _, err := state.Open(filepath.Join(t.TempDir(), "none"), quick); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestOneProcessAtATime(t *testing.T) {
	s, path := create(t, 10)
	defer closeStore(t, s)
	var refusal *state.Error
	if _, err := state.Open(path, quick); !errors.As(err, &refusal) || refusal.Kind != state.Busy {
		t.Errorf("got %v", err)
	}
}

func TestDeletedRowsAreGoneFromTheBytesAfterCompact(t *testing.T) {
	ctx := t.Context()
	s, path := create(t, 100)
	// Random bytes do not compress: they would be found as they are.
	secret := []byte("\x8f\x13\xd9\x02\xe7\x6a\xb5\x41\xfa\x90\x2c\x77\xc8\x5e\x01\xbd")
	for rank := int64(1); rank <= 40; rank++ {
		check(t, s.End(ctx, state.Record{Rank: rank, Rows: []state.Row{{Table: "cards", Data: append(fmt.Append(nil, rank, " "), secret...)}}}))
	}
	check(t, s.Flush(ctx))
	if raw, err := os.ReadFile(path); err != nil || !bytes.Contains(raw, secret) {
		t.Fatalf("the rows cannot be seen in the file, so that this test shows nothing (%v)", err)
	}
	n, err := s.DeleteRows("cards", func(row state.Stored) bool { return bytes.Contains(row.Data, secret) })
	check(t, err)
	if n != 40 {
		t.Errorf("%d rows deleted, want 40", n)
	}
	closeStore(t, s)
	before := mustRead(t, path, "cards")
	check(t, state.Compact(path))
	if diff := cmp.Diff(before, mustRead(t, path, "cards")); diff != "" {
		t.Error(diff)
	}
	raw, err := os.ReadFile(path)
	check(t, err)
	if bytes.Contains(raw, secret) {
		t.Error("the file still holds the bytes of a deleted row")
	}
}

func TestRowsOfManyBatches(t *testing.T) {
	ctx := t.Context()
	s, _ := create(t, 300)
	defer closeStore(t, s)
	want := map[int64]string{}
	for rank := int64(300); rank >= 1; rank-- {
		data := noise(uint64(rank), 20_000)
		want[rank] = string(data)
		check(t, s.End(ctx, state.Record{Rank: rank, Rows: []state.Row{{Table: "cards", Data: data}}}))
	}
	check(t, s.Flush(ctx))
	got, err := read(s, "cards")
	check(t, err)
	if !maps.Equal(got.Rows["cards"], want) {
		t.Error("the rows differ")
	}
}

// TestAgainstAModel drives a store and a plain model with the same calls,
// reopening at random, and compares them.
func TestAgainstAModel(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		path := filepath.Join(dir, "crawl.db")
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		must(state.Remove(path))
		const entries = 9000
		s, err := state.Create(path, state.Header{Entries: entries}, quick)
		must(err)
		defer func() { must(s.Close()) }()
		want := contents{Counters: map[string][]int64{}, Rows: map[string]map[int64]string{"x": {}}}
		rank := rapid.Int64Range(1, entries)
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				r := rank.Draw(t, "rank")
				if err := s.Begin(ctx, []int64{r}); (err != nil) != slices.Contains(want.Begun, r) {
					t.Fatal(err)
				} else if err == nil {
					want.Begun = append(want.Begun, r)
				}
			},
			"end": func(t *rapid.T) {
				r := rank.Draw(t, "rank")
				key, n := rapid.StringMatching(`[a-c]`).Draw(t, "key"), rapid.Int64().Draw(t, "n")
				data := rapid.SliceOfN(rapid.Byte(), 0, 6000).Draw(t, "data")
				err := s.End(ctx, state.Record{Rank: r, Counters: []state.Counter{{Key: key, Add: []int64{n}}}, Rows: []state.Row{{Table: "x", Data: data}}})
				if (err != nil) != slices.Contains(want.Ended, r) {
					t.Fatal(err)
				}
				if err != nil {
					return
				}
				if !slices.Contains(want.Begun, r) {
					want.Begun = append(want.Begun, r)
				}
				want.Ended = append(want.Ended, r)
				if want.Counters[key] == nil {
					want.Counters[key] = []int64{0}
				}
				want.Counters[key][0] += n
				want.Rows["x"][r] = string(data)
			},
			"reopen": func(t *rapid.T) {
				must(s.Close())
				s, err = state.Open(path, quick)
				must(err)
			},
			"": func(t *rapid.T) {
				must(s.Flush(ctx))
				got, err := read(s, "x")
				must(err)
				slices.Sort(want.Begun)
				slices.Sort(want.Ended)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatal(diff)
				}
			},
		})
	})
}

func copyOf(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return written(t, raw)
}

// written puts raw into a file of its own.
func written(t testing.TB, raw []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Error(err)
	}
	return path
}
