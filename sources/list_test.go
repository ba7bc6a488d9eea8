package sources_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zip"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"agentcensus/sources"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ranked = "1,alpha.example\r\n2,beta.example\r\n3,gamma.example\r\n"

var rankedSites = []sources.Site{
	{Rank: 1, Domain: "alpha.example"},
	{Rank: 2, Domain: "beta.example"},
	{Rank: 3, Domain: "gamma.example"},
}

func TestFormsOfAList(t *testing.T) {
	tests := map[string]struct {
		content string
		want    []sources.Site
	}{
		"Tranco":               {ranked, rankedSites},
		"LF":                   {strings.ReplaceAll(ranked, "\r", ""), rankedSites},
		"no last line feed":    {strings.TrimSuffix(ranked, "\r\n"), rankedSites},
		"byte order mark":      {"\ufeff" + ranked, rankedSites},
		"comments and blanks":  {"# mine\n\n" + ranked + "\n#end\n", rankedSites},
		"a piece of a list":    {"813857,alpha.example\n813858,beta.example\n", []sources.Site{{Rank: 813857, Domain: "alpha.example"}, {Rank: 813858, Domain: "beta.example"}}},
		"names":                {"\ufeffalpha.example\n\n  # a comment\nbeta.example # why\r\n\tgamma.example", rankedSites},
		"blank around a name":  {"1, alpha.example \n2,BETA.example.\n3,gamma.example\n", rankedSites},
		"a comma further down": {"alpha.example\nbeta.example,2\n", []sources.Site{{Rank: 1, Domain: "alpha.example"}, {Rank: 2, Domain: "beta.example,2", Invalid: sources.ReasonBadCharacter}}},
		"IPv6 first":           {"[2001:db8::1]\n", []sources.Site{{Rank: 1, Domain: "[2001:db8::1]", Invalid: sources.ReasonIPLiteral}}},
		"unusable and repeated": {"1,_wildcard_.example\n2,alpha.example\n3,alpha.example\n4,Com\n", []sources.Site{
			{Rank: 1, Domain: "_wildcard_.example", Invalid: sources.ReasonUnderscore},
			{Rank: 2, Domain: "alpha.example"},
			{Rank: 3, Domain: "alpha.example"},
			{Rank: 4, Domain: "Com", Invalid: sources.ReasonSingleLabel},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, "list.csv", []byte(test.content))
			list, err := sources.Open(t.Context(), path, sources.Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := sources.Info{Source: sources.SourceFile, SHA256: sum(test.content), Entries: int64(len(test.want)), First: test.want[0].Rank, Path: path}
			if diff := cmp.Diff(want, list.Info()); diff != "" {
				t.Errorf("info (-want +got):\n%s", diff)
			}
			for range 2 { // each call reads anew
				if diff := cmp.Diff(test.want, collect(t, list)); diff != "" {
					t.Errorf("sites (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestCompressionIsToldByContent(t *testing.T) {
	packed := map[string][]byte{
		"plain":         []byte(ranked),
		"gzip":          gzipped(t, ranked),
		"two in a gzip": append(gzipped(t, ranked[:20]), gzipped(t, ranked[20:])...),
		"zstd":          zstded(t, ranked),
		"zip":           zipped(t, "lists/", "", "lists/top.csv", ranked),
	}
	for name, content := range packed {
		for _, file := range []string{"list", "list.zip", "list.gz"} {
			t.Run(name+" called "+file, func(t *testing.T) {
				list, err := sources.Open(t.Context(), writeFile(t, file, content), sources.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if got := list.Info().SHA256; got != sum(ranked) {
					t.Errorf("sha256 %s is not that of the decompressed list", got)
				}
				if diff := cmp.Diff(rankedSites, collect(t, list)); diff != "" {
					t.Errorf("sites (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestAListAtFaultIsRefused(t *testing.T) {
	long := strings.Repeat("a", 5000)
	damaged := zipped(t, "top.csv", ranked)
	damaged[40] ^= 0xff // in the data of its member
	tests := map[string]struct {
		content []byte
		line    int
		says    string
	}{
		"empty":               {nil, 0, "empty"},
		"comments only":       {[]byte("# nothing\n\n"), 0, "empty"},
		"gap in ranks":        {[]byte("1,alpha.example\n2,beta.example\n4,gamma.example\n"), 3, "rank 4 follows rank 2"},
		"rank twice":          {[]byte("1,alpha.example\n1,beta.example\n"), 2, "rank 1 follows rank 1"},
		"web page":            {[]byte("\n<!DOCTYPE html>\n<title>Sign in</title>\n"), 2, "HTML"},
		"JSON":                {[]byte(`{"error":"none"}`), 1, "JSON"},
		"header line":         {[]byte("rank,domain\n1,alpha.example\n"), 1, "header"},
		"other CSV":           {[]byte("alpha.example,1\n"), 1, "rank,domain"},
		"rank 0":              {[]byte("0,alpha.example\n"), 1, "rank,domain"},
		"third column":        {[]byte("1,alpha.example\n2,beta.example,x\n"), 2, "rank,domain"},
		"name without rank":   {[]byte("1,alpha.example\nbeta.example\n"), 2, "rank,domain"},
		"rank without name":   {[]byte("1,alpha.example\n2,\n"), 2, "rank,domain"},
		"HTML in the middle":  {[]byte("1,alpha.example\n<html>\n"), 2, "rank,domain"},
		"rank past int64":     {[]byte("99999999999999999999,alpha.example\n"), 1, "rank,domain"},
		"long line":           {[]byte("alpha.example\n" + long + "\n"), 2, "longer than"},
		"line past a buffer":  {[]byte("alpha.example\n" + strings.Repeat(long, 40)), 2, "longer than"},
		"NUL":                 {[]byte("alpha.example\nbe\x00ta.example\n"), 2, "NUL"},
		"UTF-16":              {[]byte("\xff\xfea\x00.\x00b\x00\n\x00"), 1, "UTF-16"},
		"gzip cut short":      {gzipped(t, ranked)[:15], 1, "cut short"},
		"gzip header only":    {gzipped(t, ranked)[:5], 0, "damaged"},
		"zstd cut short":      {zstded(t, strings.Repeat(ranked, 9))[:20], 1, "cut short"},
		"zip cut short":       {zipped(t, "top.csv", ranked)[:60], 0, "damaged or cut short"},
		"zip damaged":         {damaged, 1, "damaged"},
		"zip of two":          {zipped(t, "top.csv", ranked, "readme.txt", "hello"), 0, "more than one file"},
		"zip of none":         {zipped(t), 0, "no file"},
		"zip of a directory":  {zipped(t, "lists/", ""), 0, "no file"},
		"zip that is a stump": {[]byte("PK\x03\x04"), 0, "damaged or cut short"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, "list", test.content)
			_, err := sources.Open(t.Context(), path, sources.Options{})
			wantListError(t, err, path, test.line, test.says)
		})
	}
}

func TestAListThatIsNoFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	missing, fifo := filepath.Join(dir, "none.csv"), filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip("no named pipes here:", err)
	}
	// Opening a pipe for reading waits for a writer.
	w, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()

	_, err = sources.Open(t.Context(), missing, sources.Options{})
	wantListError(t, err, missing, 0, "no such file")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
	_, err = sources.Open(t.Context(), dir, sources.Options{})
	wantListError(t, err, dir, 0, "directory")
	_, err = sources.Open(t.Context(), fifo, sources.Options{})
	wantListError(t, err, fifo, 0, "not a regular file")
}

func TestLimitTakesTheTopOfAWholeList(t *testing.T) {
	path := writeFile(t, "list", []byte(ranked))
	for limit, want := range map[int64]int{0: 3, 1: 1, 3: 3, 9: 3} {
		list, err := sources.Open(t.Context(), path, sources.Options{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rankedSites[:want], collect(t, list)); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
		if got := list.Info(); got.Entries != int64(want) || got.SHA256 != sum(ranked) {
			t.Errorf("limit %d: info %+v; want %d entries and the sha256 of the whole list", limit, got, want)
		}
	}
	path = writeFile(t, "list", []byte(ranked+"5,late.example\n"))
	_, err := sources.Open(t.Context(), path, sources.Options{Limit: 1})
	wantListError(t, err, path, 4, "rank 5 follows rank 3")
}

func TestAListChangedInUseIsAnError(t *testing.T) {
	changes := map[string]func(t *testing.T, path string){
		"longer":   func(t *testing.T, path string) { put(t, path, ranked+"4,delta.example\r\n") },
		"replaced": func(t *testing.T, path string) { move(t, writeFile(t, "other", []byte(ranked)), path) },
		"gone": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, "list", []byte(ranked))
			list, err := sources.Open(t.Context(), path, sources.Options{})
			if err != nil {
				t.Fatal(err)
			}
			change(t, path)
			var got error
			for s, err := range list.Sites() {
				if err == nil {
					t.Fatalf("yields %v of a list that changed", s)
				}
				got = err
			}
			wantListError(t, got, path, 0, "")
		})
	}
}

func TestSitesMayBeLeftEarly(t *testing.T) {
	list, err := sources.Open(t.Context(), writeFile(t, "list", gzipped(t, ranked)), sources.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for s, err := range list.Sites() {
		if err != nil || s != rankedSites[0] {
			t.Fatalf("first is %v, %v", s, err)
		}
		break
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	path := writeFile(t, "list", []byte(strings.Repeat("alpha.example\n", 10_000)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sources.Open(ctx, path, sources.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("err %v, want context.Canceled", err)
	}
}

func TestStandardInputIsCopiedWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out", ".state")
	kept := filepath.Join(dir, "list")
	packed := gzipped(t, ranked)
	list, err := sources.Open(t.Context(), "-", sources.Options{Stdin: iotest.OneByteReader(bytes.NewReader(packed)), StdinCopy: kept})
	if err != nil {
		t.Fatal(err)
	}
	want := sources.Info{Source: sources.SourceStdin, SHA256: sum(ranked), Entries: 3, First: 1, Path: kept}
	if diff := cmp.Diff(want, list.Info()); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(rankedSites, collect(t, list)); diff != "" {
		t.Errorf("sites (-want +got):\n%s", diff)
	}

	// Another start of the same crawl finds the copy and asks nobody.
	again, err := sources.Open(t.Context(), "-", sources.Options{Stdin: iotest.ErrReader(errors.New("read twice")), StdinCopy: kept, Resume: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, again.Info()); diff != "" {
		t.Errorf("info on resume (-want +got):\n%s", diff)
	}

	// A new crawl reads anew.
	list, err = sources.Open(t.Context(), "-", sources.Options{Stdin: strings.NewReader("delta.example\n"), StdinCopy: kept})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]sources.Site{{Rank: 1, Domain: "delta.example"}}, collect(t, list)); diff != "" {
		t.Errorf("sites of the second list (-want +got):\n%s", diff)
	}
	wantFiles(t, dir, "list")
}

func TestStandardInputAtFaultLeavesNoCopy(t *testing.T) {
	dir := t.TempDir()
	o := sources.Options{StdinCopy: filepath.Join(dir, "list")}

	o.Stdin = strings.NewReader("1,alpha.example\n3,beta.example\n")
	_, err := sources.Open(t.Context(), "-", o)
	wantListError(t, err, "standard input", 2, "rank 3 follows rank 1")

	torn := errors.New("pipe torn")
	o.Stdin = io.MultiReader(strings.NewReader(ranked), iotest.ErrReader(torn))
	if _, err := sources.Open(t.Context(), "-", o); !errors.Is(err, torn) {
		t.Errorf("err %v, want the read error", err)
	}
	wantFiles(t, dir)

	_, err = sources.Open(t.Context(), "-", sources.Options{})
	wantListError(t, err, "standard input", 0, "name a file")
}

// Every line that is an entry comes out once and in order.
func TestEveryEntryComesOutOnce(t *testing.T) {
	dir := t.TempDir()
	entry := rapid.SampledFrom([]string{"alpha.example", "BETA.example", "bücher.example", "_x.example", "com", "1.1", "a b", "xn--a.example"})
	noise := rapid.SampledFrom([]string{"", "# note\n", "\n", "  \r\n"})
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(entry, 1, 40).Draw(t, "names")
		first := rapid.Int64Range(1, 1_000_000).Draw(t, "first")
		withRank := rapid.Bool().Draw(t, "ranked")
		var b strings.Builder
		for i, name := range names {
			b.WriteString(noise.Draw(t, "noise"))
			if withRank {
				fmt.Fprintf(&b, "%d,", first+int64(i))
			}
			b.WriteString(name + rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end"))
		}
		path := filepath.Join(dir, "list")
		put(t, path, b.String())
		list, err := sources.Open(context.Background(), path, sources.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := collect(t, list)
		if len(got) != len(names) || list.Info().Entries != int64(len(names)) {
			t.Fatalf("%d sites, info says %d; want %d", len(got), list.Info().Entries, len(names))
		}
		for i, s := range got {
			rank := int64(i) + 1
			if withRank {
				rank += first - 1
			}
			domain, err := sources.Normalise(names[i])
			if s.Rank != rank || (err == nil) != (s.Invalid == "") || (err == nil && s.Domain != domain) || (err != nil && s.Domain != names[i]) {
				t.Fatalf("entry %d %q came out as %+v; want rank %d, %q (%v)", i, names[i], s, rank, domain, err)
			}
		}
	})
}

// Whatever the bytes: a typed error, or a list that yields what it announced.
func FuzzList(f *testing.F) {
	for _, seed := range [][]byte{
		[]byte(ranked), []byte("alpha.example\n"), []byte("\ufeff7,alpha.example"), []byte("<html>"), []byte("1,a.example\n3,b.example"),
		{0x1f, 0x8b}, {0x28, 0xb5, 0x2f, 0xfd}, []byte("PK\x03\x04"), []byte("PK\x05\x06"), []byte("a\x00b"),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		list, err := sources.Open(t.Context(), writeFile(t, "list", content), sources.Options{})
		if err != nil {
			var bad *sources.ListError
			if !errors.As(err, &bad) {
				t.Fatalf("%v is no *ListError", err)
			}
			return
		}
		if got := int64(len(collect(t, list))); got != list.Info().Entries || got == 0 {
			t.Fatalf("yields %d sites, announced %d", got, list.Info().Entries)
		}
	})
}

type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

func collect(t tester, list *sources.List) []sources.Site {
	t.Helper()
	var got []sources.Site
	for s, err := range list.Sites() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s)
	}
	return got
}

func wantListError(t *testing.T, err error, file string, line int, says string) {
	t.Helper()
	var bad *sources.ListError
	if !errors.As(err, &bad) {
		t.Fatalf("err %v, want a *ListError", err)
	}
	if bad.File != file || bad.Line != line || !strings.Contains(bad.Error(), says) {
		t.Errorf("err %q, want one of %s, line %d, that says %q", bad, file, line, says)
	}
}

func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files in %s (-want +got):\n%s", dir, diff)
	}
}

func writeFile(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	put(t, path, string(content))
	return path
}

func put(t tester, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func gzipped(t *testing.T, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstded(t *testing.T, s string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll([]byte(s), nil)
}

// zipped makes a ZIP archive of names and contents in turn.
func zipped(t *testing.T, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, err := z.Create(members[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, members[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
