package sink

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// filesUnder lists the regular files below dir, hidden ones included.
func filesUnder(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestTheFileIsAsItsMetadataSays(t *testing.T) {
	dir := writeCensus(t)
	db := openDuck(t, dir)
	path := pathOf[Card](dir, december)
	for name, check := range map[string]struct {
		query string
		want  []string
	}{
		"zstd everywhere": {"SELECT DISTINCT compression FROM parquet_metadata('" + path + "')", []string{"ZSTD"}},
		"ranks bounded":   {"SELECT stats_min_value, stats_max_value FROM parquet_metadata('" + path + "') WHERE path_in_schema = 'rank'", []string{"1 | 200000"}},
		"no body as minimum or maximum": {"SELECT coalesce(stats_min, stats_min_value, stats_max, stats_max_value) FROM parquet_metadata('" + path +
			"') WHERE path_in_schema = 'card_json'", []string{"NULL"}},
		"whose it is": {"SELECT decode(key), decode(value) FROM parquet_kv_metadata('" + path + "') ORDER BY 1", []string{
			"crawl | 2026-12-01", "kind | monthly", "schema_version | 1", "simulated | false", "software_version | 0.1.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(check.want, answer(t, db, check.query)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	for _, l := range layouts {
		t.Run("order of "+l.name, func(t *testing.T) {
			var declared []string
			err := withFile(TablePath(dir, l.name, "monthly", "2026-12-01"), func(file *parquet.File) error {
				for _, column := range file.Metadata().RowGroups {
					for _, sorting := range column.SortingColumns {
						declared = append(declared, strings.Join(file.Schema().Columns()[sorting.ColumnIdx], "."))
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, column := range l.sort {
				want = append(want, column.Path()[0])
			}
			files, err := Files(dir, l.name)
			if err != nil {
				t.Fatal(err)
			}
			// A file of 0 rows has no row group to declare an order.
			if l.name == "checks" {
				want = nil
			}
			if diff := cmp.Diff(want, declared); diff != "" || len(files) == 0 {
				t.Errorf("%d files (-want +got)\n%s", len(files), diff)
			}
		})
	}
}

func TestNothingIsPublishedWhen(t *testing.T) {
	broken := errors.New("the state is gone")
	for _, test := range []struct {
		name string
		meta Meta
		rows iter.Seq2[Card, error]
		want error
	}{
		{"a row cannot be had", december, func(yield func(Card, error) bool) {
			if yield(Card{Rank: 1}, nil) {
				yield(Card{}, broken)
			}
		}, broken},
		{"rows are out of order", december, sequence([]Card{{Rank: 2}, {Rank: 1}}), ErrUnsorted},
		{"the kind is no word", Meta{Kind: "../x", Crawl: "2026-12-01"}, sequence([]Card{}), nil},
		{"the crawl is no date", Meta{Kind: "monthly", Crawl: "2026-12"}, sequence([]Card{}), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			err := WriteTable(dir, test.meta, test.rows)
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if files := filesUnder(t, dir); files != nil {
				t.Errorf("left %q", files)
			}
		})
	}
}

func TestAFailedRewriteLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, december, Card{Rank: 1, Site: "kept.example"})
	before, err := os.ReadFile(pathOf[Card](dir, december))
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteTable(dir, december, sequence([]Card{{Rank: 9}, {Rank: 8}})); !errors.Is(err, ErrUnsorted) {
		t.Fatalf("error %v", err)
	}
	after, err := os.ReadFile(pathOf[Card](dir, december))
	if err != nil || !bytes.Equal(before, after) || len(filesUnder(t, dir)) != 1 {
		t.Errorf("the file changed, or others lie beside it: %v, %q", err, filesUnder(t, dir))
	}
}

// limited fails once more than its bytes have been written, like a full disk.
type limited struct{ left int }

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, syscall.ENOSPC
	}
	return len(p), nil
}

// offsets notes where each write to it begins.
type offsets struct {
	size int
	at   []int
}

func (o *offsets) Write(p []byte) (int, error) {
	o.at = append(o.at, o.size)
	o.size += len(p)
	return len(p), nil
}

func TestAFullDiskIsAnErrorWhereverItStrikes(t *testing.T) {
	cards := []Card{aster(), birch(), cedar(), dahlia()}
	// The writer's own writes: each of them may be the one that fails.
	var writes offsets
	if err := encode(&writes, december, sequence(cards)); err != nil {
		t.Fatal(err)
	}
	for _, left := range writes.at {
		if err := encode(&limited{left: left}, december, sequence(cards)); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("with room for %d of %d bytes: %v", left, writes.size, err)
		}
	}
	if err := encode(io.Discard, december, sequence(cards)); err != nil {
		t.Fatal(err)
	}
}

// bigCards yields cards with bodies of about size bytes that do not compress
// to nothing.
func bigCards(count, size int) iter.Seq2[Card, error] {
	return func(yield func(Card, error) bool) {
		state := uint64(1)
		body := make([]byte, size)
		for i := range count {
			for j := range body {
				state = state*6364136223846793005 + 1442695040888963407
				body[j] = 'a' + byte(state>>60)
			}
			if !yield(Card{Rank: int64(i + 1), Site: fmt.Sprintf("site%d.example", i), CardJSON: ptr(string(body))}, nil) {
				return
			}
		}
	}
}

// The limit on a file's size is one for the whole process, so that the writing
// runs in one of its own: this test's own binary, told by the environment.
func TestAFullDiskLeavesNoPartialTable(t *testing.T) {
	const dirKey = "SINK_TEST_LIMITED_DIR"
	if dir := os.Getenv(dirKey); dir != "" {
		signal.Ignore(syscall.SIGXFSZ)
		limit := syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
		if err := WriteTable(dir, december, bigCards(500, 20_000)); !errors.Is(err, syscall.EFBIG) {
			t.Fatalf("error %v", err)
		}
		return
	}
	dir := t.TempDir()
	put(t, dir, november, aster())
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), executable, "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), dirKey+"="+dir)
	if output, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	want := []string{"data/cards/kind=monthly/crawl=2026-11-01/cards.parquet"}
	if diff := cmp.Diff(want, filesUnder(t, dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestManyBigCardsFitInLittleMemory(t *testing.T) {
	const cards, size = 2000, 20_000 // 40 MB of bodies, twice that if all were held
	dir := t.TempDir()
	var peak, base uint64
	watched := func(yield func(Card, error) bool) {
		for card, err := range bigCards(cards, size) {
			if card.Rank%50 == 0 {
				var stats runtime.MemStats
				runtime.ReadMemStats(&stats)
				peak = max(peak, stats.HeapInuse)
			}
			if !yield(card, err) {
				return
			}
		}
	}
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	base = stats.HeapInuse
	if err := WriteTable(dir, december, watched); err != nil {
		t.Fatal(err)
	}
	t.Logf("peak %d MB above %d MB", (peak-base)>>20, base>>20)
	if peak-base > 60<<20 {
		t.Errorf("writing took %d MB", (peak-base)>>20)
	}
	var groups int
	var rows int64
	err := withFile(pathOf[Card](dir, december), func(file *parquet.File) error {
		groups, rows = len(file.RowGroups()), file.NumRows()
		return nil
	})
	if err != nil || groups < 4 || rows != cards {
		t.Errorf("%d rows in %d groups, %v", rows, groups, err)
	}
}

func TestCleanTempRemovesWhatKilledRunsLeft(t *testing.T) {
	dir := t.TempDir()
	if err := CleanTemp(dir); err != nil {
		t.Fatalf("without data: %v", err)
	}
	put(t, dir, december, Card{Rank: 1})
	const tempPrefix = ".tmp-"
	beside := filepath.Join(filepath.Dir(pathOf[Card](dir, december)), tempPrefix+"cards-123")
	top := filepath.Join(dir, tempPrefix+"views-9")
	list := filepath.Join(dir, stateDir, tempPrefix+"monthly-7") // names every site
	foreign := filepath.Join(dir, "notes", tempPrefix+"mine")
	for _, path := range []string{beside, top, list, foreign} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("PAR1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := answer(t, openDuck(t, dir), "SELECT count(*) FROM read_parquet('"+dir+"/data/cards/*/*/*.parquet')"); got[0] != "1" {
		t.Errorf("a reader meets the file under way: %q", got)
	}
	if err := CleanTemp(dir); err != nil {
		t.Fatal(err)
	}
	want := []string{"data/cards/kind=monthly/crawl=2026-12-01/cards.parquet", "notes/" + tempPrefix + "mine"}
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(filesUnder(t, dir)))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
