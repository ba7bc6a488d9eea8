package sources_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"agentcensus/sources"
)

func TestOptOutCovers(t *testing.T) {
	const file = "\ufeff# asked by mail\r\n" +
		"shop.example\r\n" +
		"  WWW.Press.example.  # the www form means the site\n" +
		"bücher.example\n" +
		"xn--strae-oqa.example\n" +
		"=only.example\n" +
		"=co.uk\n" +
		"=com\n" +
		"*.github.io\n" +
		"*.all.example\n" +
		"deep.below.example"
	covered := []string{
		"shop.example", "www.shop.example", "a.shop.example", "a.b.shop.example", "_x.shop.example", "-.shop.example",
		"SHOP.example", "shop.example.", "www.www.shop.example",
		"press.example", "www.press.example", "en.press.example",
		"bücher.example", "xn--bcher-kva.example", "BÜCHER.example", "www.bücher.example", "a.xn--bcher-kva.example",
		"straße.example", "xn--strae-oqa.example",
		"only.example", "www.only.example",
		"co.uk", "www.co.uk", "com", "www.com",
		"github.io", "www.github.io", "someone.github.io", "a.someone.github.io",
		"all.example", "www.all.example", "one.all.example",
		"deep.below.example",
	}
	free := []string{
		"", ".", "example", "op.example", "ashop.example", "shop.example.org", "shop.exampl", "hop.example", "wwwshop.example",
		"strasse.example", "bucher.example",
		"a.only.example", "www.www.only.example", "a.www.only.example",
		"shop.co.uk", "example.com", "a.www.com",
		"below.example", "www.below.example", "other.below.example",
		"192.0.2.1",
	}
	o, err := sources.LoadOptOut(writeFile(t, "optout", []byte(file)))
	if err != nil {
		t.Fatal(err)
	}
	if o.Len() != 10 {
		t.Errorf("%d entries, want 10", o.Len())
	}
	for _, host := range covered {
		if !o.Covers(host) {
			t.Errorf("%q is not covered", host)
		}
	}
	for _, host := range free {
		if o.Covers(host) {
			t.Errorf("%q is covered", host)
		}
	}
}

// Two entries for one name: the wider one holds, in either order.
func TestTheWiderEntryHolds(t *testing.T) {
	for _, file := range []string{"=shop.example\nshop.example\n", "shop.example\n=shop.example\n"} {
		o, err := sources.LoadOptOut(writeFile(t, "optout", []byte(file)))
		if err != nil {
			t.Fatal(err)
		}
		if !o.Covers("a.shop.example") {
			t.Errorf("%q does not cover what is below", file)
		}
	}
}

func TestNoOptOutCoversNothing(t *testing.T) {
	var none *sources.OptOut
	empty, err := sources.LoadOptOut(writeFile(t, "optout", nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []*sources.OptOut{none, empty} {
		if o.Covers("shop.example") || o.Covers("") || o.Len() != 0 {
			t.Errorf("%v covers something", o)
		}
	}
}

func TestAnOptOutLineAtFaultPreventsTheStart(t *testing.T) {
	tests := map[string]struct{ line, says string }{
		"ICANN suffix":        {"co.uk", "=co.uk"},
		"private suffix":      {"github.io", "*.github.io"},
		"suffix as www":       {"www.github.io", "=github.io"},
		"suffix in capitals":  {"GITHUB.IO.", "public suffix"},
		"IDN suffix":          {"公司.cn", "public suffix"},
		"suffix by wildcard":  {"name.kawasaki.jp", "public suffix"},
		"parent of wildcards": {"kawasaki.jp", "public suffix"},
		"top-level domain":    {"com", "public suffix"},
		"unlisted top level":  {"example", "public suffix"},
		"a bare www":          {"www", "public suffix"},
		"URL":                 {"https://shop.example/", sources.ReasonBadCharacter},
		"two on a line":       {"shop.example press.example", sources.ReasonBadCharacter},
		"address":             {"192.0.2.1", sources.ReasonIPLiteral},
		"underscore":          {"_shop.example", sources.ReasonUnderscore},
		"= and star":          {"=*.shop.example", "not both"},
		"= alone":             {"=", sources.ReasonEmpty},
		"star alone":          {"*.", sources.ReasonEmpty},
		"star in the middle":  {"a.*.shop.example", sources.ReasonBadCharacter},
		"bad punycode":        {"xn--a.example", sources.ReasonBadIDNA},
		"NUL":                 {"shop\x00.example", "NUL"},
		"long line":           {strings.Repeat("a", 100_000), "longer than"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, "optout", []byte("# first\ngood.example\n"+test.line+"\nlast.example\n"))
			o, err := sources.LoadOptOut(path)
			if o != nil {
				t.Error("a list is handed out")
			}
			wantListError(t, err, path, 3, test.says)
		})
	}
}

func TestAllFaultsAreToldAtOnce(t *testing.T) {
	path := writeFile(t, "optout", []byte("com\ngood.example\n-x.example\n"))
	_, err := sources.LoadOptOut(path)
	for _, want := range []string{path + ":1: ", path + ":3: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err %v does not tell of %s", err, want)
		}
	}
}

func TestAMissingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none")
	_, err := sources.LoadOptOut(path)
	wantListError(t, err, path, 0, "no such file")

	suppressed, err := sources.LoadSuppressed(path)
	if err != nil || suppressed.Len() != 0 {
		t.Fatalf("suppression list of %d entries, %v; want an empty one", suppressed.Len(), err)
	}
	if err := sources.Append(path, "shop.example"); err != nil {
		t.Fatal(err)
	}
	if added, err := suppressed.Poll(); added != 1 || err != nil || !suppressed.Covers("www.shop.example") {
		t.Errorf("Poll after the first entry: %d, %v", added, err)
	}
	dir := t.TempDir()
	_, err = sources.LoadSuppressed(dir)
	wantListError(t, err, dir, 0, "is not a regular file")
}

func TestReloadOnlyEverAdds(t *testing.T) {
	path := writeFile(t, "optout", []byte("one.example\n=two.example\n"))
	o, err := sources.LoadOptOut(path)
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		name    string
		content string // "-" removes the file
		added   int
		fault   int // line, -1 for none
	}{
		{"one more", "one.example\n=two.example\nthree.example\n", 1, -1},
		{"the same", "one.example\n=two.example\nthree.example\n", 0, -1},
		{"a fault among new ones", "four.example\ncom\nfive.example\n", 2, 2},
		{"a line too long among them", "# " + strings.Repeat("x", 70_000) + "\nsix.example\n", 1, 1},
		{"half saved", "", 0, -1},
		{"gone", "-", 0, 0},
		{"wider", "two.example\n", 1, -1},
	}
	for _, step := range steps {
		if step.content == "-" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		} else {
			put(t, path, step.content)
		}
		added, err := o.Reload()
		if added != step.added || (err == nil) != (step.fault < 0) {
			t.Errorf("%s: added %d, %v; want %d, fault in line %d", step.name, added, err, step.added, step.fault)
		}
		if step.fault >= 0 {
			wantListError(t, err, path, step.fault, "")
		}
		if !o.Covers("a.one.example") || !o.Covers("two.example") {
			t.Fatalf("%s: an entry was lost", step.name)
		}
	}
	for _, host := range []string{"three.example", "four.example", "five.example", "six.example", "a.two.example"} {
		if !o.Covers(host) {
			t.Errorf("%s is not covered at the end", host)
		}
	}
	if o.Covers("shop.com") {
		t.Error("the line at fault has an effect")
	}
}

func TestPollReadsAChangedFileOnly(t *testing.T) {
	path := writeFile(t, "optout", []byte("one.example\n"))
	o, err := sources.LoadOptOut(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, wantAdded int, wantErr bool) {
		t.Helper()
		added, err := o.Poll()
		if added != wantAdded || (err != nil) != wantErr {
			t.Errorf("%s: Poll gives %d, %v; want %d, error %v", what, added, err, wantAdded, wantErr)
		}
	}
	check("unchanged", 0, false)
	put(t, path, "one.example\ntwo.example\n")
	check("another size", 1, false)
	check("seen already", 0, false)

	put(t, path, "one.example\nsix.example\n")
	if err := os.Chtimes(path, time.Time{}, time.Unix(2_000_000_000, 0)); err != nil {
		t.Fatal(err)
	}
	check("another time", 1, false)

	put(t, path, "com\nnew.example\n")
	check("a fault", 1, true)
	check("the fault again", 0, false)

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	check("gone", 0, true)
	check("still gone", 0, false)
	put(t, path, "back.example\n")
	check("back", 1, false)
}

// A file that cannot be examined is told of once, not at every request.
func TestPollTellsOnceOfAFileOutOfReach(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "optout")
	put(t, path, "one.example\n")
	o, err := sources.LoadOptOut(path)
	if err != nil {
		t.Fatal(err)
	}
	// A file in the directory's place: ENOTDIR, for root too.
	if err := os.Rename(dir, dir+"2"); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "")
	if _, err := o.Poll(); err == nil {
		t.Error("the fault is not told")
	}
	for range 3 {
		if _, err := o.Poll(); err != nil {
			t.Errorf("the fault is told again: %v", err)
		}
	}
	if !o.Covers("one.example") {
		t.Error("an entry was lost")
	}
	if err := errors.Join(os.Remove(dir), os.Rename(dir+"2", dir)); err != nil {
		t.Fatal(err)
	}
	put(t, path, "one.example\ntwo.example\n")
	if added, err := o.Poll(); added != 1 || err != nil {
		t.Errorf("added %d, %v when it was back", added, err)
	}
}

// www.com and its like are sites of their own, not another form of com.
func TestASiteCalledWWW(t *testing.T) {
	o, err := sources.ParseEntry("www.com")
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{"www.com": true, "shop.www.com": true, "www.www.com": true, "com": false, "shop.com": false} {
		if o.Covers(host) != want {
			t.Errorf("%s covered: %t", host, !want)
		}
	}
}

// Requests are checked while the file is read again.
func TestOptOutServesManyAtOnce(t *testing.T) {
	path := writeFile(t, "optout", []byte("one.example\n"))
	o, err := sources.LoadOptOut(path)
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 1000 {
				if !o.Covers("www.one.example") {
					t.Error("an entry is not in force for a moment")
					return
				}
			}
		})
	}
	for i := range 20 {
		put(t, path, fmt.Sprintf("new-%d.example\n", i))
		if _, err := o.Reload(); err != nil {
			t.Error(err)
		}
	}
	readers.Wait()
	if o.Len() != 21 {
		t.Errorf("%d entries, want 21", o.Len())
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	tests := map[string]struct{ before, domain, after string }{
		"to nothing":              {"", "shop.example", "shop.example\n"},
		"to a whole line":         {"# mine\none.example\n", "shop.example", "# mine\none.example\nshop.example\n"},
		"to an unended line":      {"one.example # why", "shop.example", "one.example # why\nshop.example\n"},
		"in its one form":         {"", " WWW.Bücher.example. ", "xn--bcher-kva.example\n"},
		"the name alone":          {"", "=shop.example", "=shop.example\n"},
		"suffix alone":            {"", "=github.io", "=github.io\n"},
		"suffix and all below":    {"", "*.github.io", "*.github.io\n"},
		"star on a plain name":    {"", "*.shop.example", "shop.example\n"},
		"there already":           {"www.shop.example", "shop.example", "www.shop.example"},
		"wider than there":        {"=shop.example\n", "shop.example", "=shop.example\nshop.example\n"},
		"narrower than there":     {"shop.example\n", "=shop.example", "shop.example\n"},
		"past a line at fault":    {"com\n", "shop.example", "com\nshop.example\n"},
		"below one that is there": {"shop.example\n", "a.shop.example", "shop.example\na.shop.example\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "optout")
			if test.before != "" {
				put(t, path, test.before)
			}
			if err := sources.Append(path, test.domain); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil || string(got) != test.after {
				t.Errorf("file %q, %v; want %q", got, err, test.after)
			}
			wantFiles(t, filepath.Dir(path), "optout")
		})
	}
}

func TestAppendRefuses(t *testing.T) {
	tests := map[string]struct{ before, domain string }{
		"public suffix": {"one.example\n", "github.io"},
		"no name":       {"one.example\n", "https://shop.example"},
		"no text":       {"o\x00n\x00e\x00", "shop.example"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, "optout", []byte(test.before))
			if err := sources.Append(path, test.domain); err == nil {
				t.Error("no error")
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != test.before {
				t.Errorf("file %q, %v; want it as it was", got, err)
			}
			wantFiles(t, filepath.Dir(path), "optout")
		})
	}
}

func TestAppendKeepsModeAndLink(t *testing.T) {
	target := writeFile(t, "real", []byte("one.example\n"))
	if err := os.Chmod(target, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "optout")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := sources.Append(link, "shop.example"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(target)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("target has mode %v, %v; want 0600", info.Mode(), err)
	}
	if got, err := os.Readlink(link); err != nil || got != target {
		t.Errorf("link leads to %q, %v", got, err)
	}
	if got, err := os.ReadFile(link); err != nil || string(got) != "one.example\nshop.example\n" {
		t.Errorf("content %q, %v", got, err)
	}
}

// Covers agrees with the sentence in the documentation, spelt out naively.
func TestCoversByLabels(t *testing.T) {
	dir := t.TempDir()
	label := rapid.StringMatching(`[a-c]{1,2}|www`)
	name := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(label, 1, 4).Draw(t, "labels"), ".") + ".example"
	})
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom([]string{"", "=", "*."}).Draw(t, "form") + name.Filter(func(s string) bool { return s != "www.example" }).Draw(t, "name")
		}), 0, 5).Draw(t, "entries")
		path := filepath.Join(dir, "optout")
		put(t, path, strings.Join(entries, "\n"))
		o, err := sources.LoadOptOut(path)
		if err != nil {
			t.Fatal(err)
		}
		host := name.Draw(t, "host")
		want := false
		for _, e := range entries {
			bare, exact := strings.CutPrefix(e, "=")
			bare = strings.TrimPrefix(strings.TrimPrefix(bare, "*."), "www.")
			want = want || host == bare || host == "www."+bare || (!exact && strings.HasSuffix(host, "."+bare))
		}
		if got := o.Covers(host); got != want {
			t.Fatalf("Covers(%q) = %v with %q; want %v", host, got, entries, want)
		}
	})
}

// Whatever the bytes: an entry covers itself, and faults are typed.
func FuzzOptOut(f *testing.F) {
	for _, seed := range []string{
		"shop.example\n", "=co.uk\n*.github.io", "com\n", "\ufeffbücher.example # x\r\n", "www.www.example", "=*.x", "a\x00", "*.", "#",
	} {
		f.Add(seed, "www.shop.example")
	}
	f.Fuzz(func(t *testing.T, content, host string) {
		path := writeFile(t, "optout", []byte(content))
		o, err := sources.LoadOptOut(path)
		if err != nil {
			var bad *sources.ListError
			if !errors.As(err, &bad) {
				t.Fatalf("%v is no *ListError", err)
			}
			return
		}
		was := o.Covers(host)
		if err := sources.Append(path, host); err != nil {
			return
		}
		added, err := o.Reload()
		if err != nil {
			t.Fatalf("after Append of %q: %v", host, err)
		}
		name := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(host), "="), "*.")
		if !o.Covers(name) || (was && added > 1) {
			t.Fatalf("%q is not covered after Append (%d added)", name, added)
		}
	})
}
