package state_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"agentcensus/sink/state"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
)

// sample is the bytes of a state file with some of everything: many pages of
// counters, rows with overflow pages, freed pages of earlier commits.
func sample(t testing.TB) []byte {
	ctx := context.Background()
	s, path := create(t, 9000)
	for rank := int64(1); rank <= 9000; rank += 180 {
		check(t, s.Begin(ctx, []int64{rank}))
		check(t, s.End(ctx, state.Record{
			Rank:     rank,
			Counters: []state.Counter{{Key: fmt.Sprintf("a key of some length %d", rank), Add: []int64{rank, 1}}},
			Rows:     []state.Row{{Table: "cards", Data: noise(uint64(rank), int(rank)/2)}},
		}))
		check(t, s.Flush(ctx))
	}
	closeStore(t, s)
	return inUse(t, path)
}

// inUse is the bytes of a state file without the free space at its end, which
// is most of it and where damage does nothing.
func inUse(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	check(t, err)
	for size := 8192; size < len(raw); size += 4096 {
		if _, err := state.Peek(written(t, raw[:size])); err == nil {
			return raw[:size]
		}
	}
	return raw
}

// damaged is a place for damaged copies of a file and what the file held.
type damaged struct {
	path string
	want contents
}

func newDamaged(t *testing.T, raw []byte) damaged {
	path := written(t, raw)
	return damaged{path, mustRead(t, path, "cards")}
}

// refusedOrRight opens raw: it must be refused with an *Error, or hold exactly
// what is wanted. It reports whether it was refused.
func (d damaged) refusedOrRight(t *testing.T, what string, raw []byte) bool {
	t.Helper()
	check(t, os.WriteFile(d.path, raw, 0o600))
	s, err := state.Open(d.path, quick)
	if err != nil {
		if !errors.As(err, new(*state.Error)) {
			t.Errorf("%s: refused without a kind: %v", what, err)
		}
		return true
	}
	got, err := read(s, "cards")
	if err != nil {
		t.Errorf("%s: %v", what, err)
	} else if diff := cmp.Diff(d.want, got); diff != "" {
		t.Errorf("%s: opened, but it holds something else:\n%s", what, diff)
	}
	closeStore(t, s)
	return false
}

func TestACutFileIsRefused(t *testing.T) {
	raw := sample(t)
	d := newDamaged(t, raw)
	if d.refusedOrRight(t, "whole", raw) {
		t.Fatal("the whole file is refused")
	}
	sizes := []int{0, 1, 15, 16, 79, 80, 511, 512, 4095, 4096, 4097, 8191, 8192, 8193, 12288, 16384}
	for size := 20_480; size < len(raw); size += 4096 + size/4 {
		sizes = append(sizes, size-1, size, size+1, size+2048)
	}
	refused := 0
	for _, size := range sizes {
		if size < len(raw) && d.refusedOrRight(t, fmt.Sprintf("cut at %d", size), raw[:size]) {
			refused++
		}
	}
	if refused < len(sizes)/2 {
		t.Errorf("only %d of %d cut files are refused", refused, len(sizes))
	}
	// A cut that the file system made good with zeros.
	for _, size := range []int{0, 4096, 8192, 65_536} {
		zeroed := append(bytes.Clone(raw[:size]), make([]byte, len(raw)-size)...)
		if !d.refusedOrRight(t, fmt.Sprintf("zeros from %d", size), zeroed) {
			t.Errorf("zeros from %d are not noticed", size)
		}
	}
}

func TestAFlippedBitIsRefusedOrDoesNoHarm(t *testing.T) {
	// Compacted, so that nearly every page holds something.
	path := written(t, sample(t))
	check(t, state.Compact(path))
	raw := inUse(t, path)
	d := newDamaged(t, raw)
	random := rand.New(rand.NewPCG(3, 4))
	refused := 0
	const flips = 300
	for range flips {
		at, bit := random.IntN(len(raw)), byte(1)<<random.IntN(8)
		flipped := bytes.Clone(raw)
		flipped[at] ^= bit
		if d.refusedOrRight(t, fmt.Sprintf("byte %d ^ %#x", at, bit), flipped) {
			refused++
		}
	}
	// Page headers and the first elements are where a flip misleads a reader.
	for page := 0; page < len(raw)/4096; page += 2 {
		for _, at := range []int{0, 8, 10, 12, 16, 20, 24, 28, 32} {
			flipped := bytes.Clone(raw)
			flipped[page*4096+at] ^= byte(1) << random.IntN(8)
			d.refusedOrRight(t, fmt.Sprintf("page %d byte %d", page, at), flipped)
		}
	}
	if refused < flips/2 {
		t.Errorf("only %d of %d flips were noticed: the sample is mostly free pages", refused, flips)
	}
}

func TestThePageOfAnEarlierCommitIsNoticed(t *testing.T) {
	raw := sample(t)
	d := newDamaged(t, raw)
	pages := len(raw) / 4096
	random := rand.New(rand.NewPCG(5, 6))
	for range 150 {
		mixed := bytes.Clone(raw)
		from, to := 2+random.IntN(pages-2), 2+random.IntN(pages-2)
		copy(mixed[to*4096:(to+1)*4096], raw[from*4096:(from+1)*4096])
		copy(mixed[to*4096:to*4096+8], raw[to*4096:to*4096+8]) // with the right page's id
		d.refusedOrRight(t, fmt.Sprintf("page %d in the place of %d", from, to), mixed)
	}
}

func TestForeignFiles(t *testing.T) {
	boltFile := func(fill func(*bbolt.Tx) error) []byte {
		path := filepath.Join(t.TempDir(), "other.db")
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoFreelistSync: true, PageSize: 4096})
		check(t, err)
		check(t, db.Update(fill))
		check(t, db.Close())
		raw, err := os.ReadFile(path)
		check(t, err)
		return raw
	}
	tests := map[string]struct {
		raw  []byte
		want state.Kind
	}{
		"text":  {bytes.Repeat([]byte("1,first.example\n"), 1000), state.Foreign},
		"zeros": {make([]byte, 16384), state.Foreign},
		"another program's bbolt file": {boltFile(func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucket([]byte("header"))
			return err
		}), state.Foreign},
		"the next version's": {boltFile(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucket([]byte("header"))
			return errors.Join(err, b.Put([]byte("magic"), []byte("agentcensus state")), b.Put([]byte("version"), []byte{0, 0, 0, 2}))
		}), state.Other},
		"empty": {nil, state.Damaged},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := written(t, test.raw)
			var refusal *state.Error
			if _, err := state.Open(path, quick); !errors.As(err, &refusal) || refusal.Kind != test.want || refusal.Path != path {
				t.Errorf("got %v, want kind %q", err, test.want)
			}
			after, err := os.ReadFile(path)
			check(t, err)
			if !bytes.Equal(after, test.raw) {
				t.Error("the refused file was changed")
			}
		})
	}
	t.Run("a directory", func(t *testing.T) {
		if _, err := state.Open(t.TempDir(), quick); !errors.As(err, new(*state.Error)) {
			t.Errorf("got %v", err)
		}
	})
}

// FuzzOpenState opens any bytes at all: they are refused, or they make a store
// that works.
func FuzzOpenState(f *testing.F) {
	s, path := create(f, 100)
	check(f, s.Begin(f.Context(), []int64{1, 2}))
	check(f, s.End(f.Context(), state.Record{Rank: 1, Counters: []state.Counter{{Key: "k", Add: []int64{1}}}, Rows: []state.Row{{Table: "cards", Data: []byte("card")}}}))
	closeStore(f, s)
	raw := inUse(f, path)
	f.Add(raw)
	f.Add(raw[:8192])
	f.Add([]byte("not a state file"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := written(t, raw)
		// Peek reads as Open does, and starts nothing for the refused.
		if _, err := state.Peek(path); err != nil {
			return
		}
		s, err := state.Open(path, quick)
		check(t, err)
		for rank := int64(1); rank <= min(s.Header().Entries, 3); rank++ {
			if !s.Ended(rank) {
				check(t, s.End(t.Context(), state.Record{Rank: rank, Counters: []state.Counter{{Key: "k", Add: []int64{1}}}, Rows: []state.Row{{Table: "cards", Data: raw[:100]}}}))
			}
		}
		check(t, s.Flush(t.Context()))
		for _, err := range s.Rows("cards") {
			if err != nil {
				break // a row that was never a zstd frame
			}
		}
		closeStore(t, s)
		s, err = state.Open(path, quick)
		check(t, err)
		closeStore(t, s)
	})
}
