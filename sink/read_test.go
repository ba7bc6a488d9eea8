package sink

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBrokenFilesAreNamed(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, december, aster())
	path := pathOf[Card](dir, december)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	garbled := bytes.Clone(whole)
	copy(garbled[len(garbled)-40:], bytes.Repeat([]byte{0xff}, 32))
	for name, content := range map[string][]byte{
		"empty":             {},
		"cut at the end":    whole[:len(whole)-1],
		"cut in half":       whole[:len(whole)/2],
		"no beginning":      whole[4:],
		"another format":    []byte("<!doctype html><p>not here</p>"),
		"garbled footer":    garbled,
		"a footer too long": []byte("PAR1 a footer longer than the file\xff\xff\xff\x7fPAR1"),
		"magic and little":  []byte("PAR1\x00\x00\x00\x00PAR1"),
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			var last error
			for _, err := range ReadTable[Card](path) {
				last = err
			}
			if !errors.Is(last, ErrBroken) || !strings.Contains(last.Error(), path) {
				t.Errorf("error %v", last)
			}
		})
	}
	for _, err := range ReadTable[Card](filepath.Join(dir, "none.parquet")) {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a missing file gives %v", err)
		}
	}
}

func TestRowsComeBackInOrderAndAreKept(t *testing.T) {
	dir := t.TempDir()
	var want []Card
	for i := range 3*readRows + 5 {
		card := aster()
		card.Rank, card.Site = int64(i+1), fmt.Sprintf("site%d.example", i)
		card.Skills = card.Skills[:i%3%(len(card.Skills)+1)]
		card.CardJSON = ptr(strings.Repeat("x", i))
		want = append(want, card)
	}
	put(t, dir, december, want...)
	var got []Card
	for card, err := range ReadTable[Card](pathOf[Card](dir, december)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, card)
	}
	for i := range want {
		if diff := cmp.Diff(plain(want[i]), plain(got[i])); diff != "" {
			t.Fatalf("row %d (-want +got)\n%s", i, diff)
		}
	}
	read := 0
	for range ReadTable[Card](pathOf[Card](dir, december)) {
		if read++; read == 3 {
			break
		}
	}
	if len(got) != len(want) || read != 3 {
		t.Errorf("%d rows of %d, and %d of the 3 wanted", len(got), len(want), read)
	}
}

func TestFilesAreListedByCrawl(t *testing.T) {
	dir := writeCensus(t)
	if err := os.MkdirAll(filepath.Dir(pathOf[Card](dir, Meta{Kind: "monthly", Crawl: "2027-01-01"})), 0o755); err != nil {
		t.Fatal(err)
	}
	files, err := Files(dir, "cards")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, file := range files {
		got = append(got, file.Crawl+" "+file.Kind)
	}
	want := []string{"2026-11-01 monthly", "2026-12-01 monthly", "2026-12-08 weekly", "2026-12-15 adhoc"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// What checkEnds lets through has a footer that lies within the file.
func FuzzCheckEnds(f *testing.F) {
	var whole bytes.Buffer
	if err := encode(&whole, december, sequence([]SiteTotal{{RankFrom: 1, RankTo: 100, Outcome: "card", Sites: 3}})); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes())
	f.Add(whole.Bytes()[:whole.Len()/2])
	f.Add([]byte("PAR1\x00\x00\x00\x00PAR1"))
	f.Add([]byte("PAR1\xff\xff\xff\x7fPAR1"))
	f.Fuzz(func(t *testing.T, content []byte) {
		err := checkEnds(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			if !errors.Is(err, ErrBroken) {
				t.Errorf("error %v", err)
			}
			return
		}
		rest, ok := bytes.CutPrefix(content, []byte("PAR1"))
		if !ok || !bytes.HasSuffix(rest, []byte("PAR1")) || len(rest) < 8 ||
			uint64(binary.LittleEndian.Uint32(rest[len(rest)-8:])) > uint64(len(rest)-8) {
			t.Errorf("%q is let through", content)
		}
	})
}
