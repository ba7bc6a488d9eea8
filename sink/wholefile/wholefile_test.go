package wholefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"agentcensus/sink/wholefile"
)

func write(text string) func(*os.File) error {
	return func(f *os.File) error {
		_, err := f.WriteString(text)
		return err
	}
}

// names are the files of dir, their text beside them.
func names(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[entry.Name()] = string(text)
	}
	return found
}

func only(t *testing.T, dir, name, text string) {
	t.Helper()
	if found := names(t, dir); len(found) != 1 || found[name] != text {
		t.Errorf("the directory holds %q, want %s with %q alone", found, name, text)
	}
}

func TestAFileAppearsWholeWithItsMode(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "list.txt")
	for _, text := range []string{"first", "second"} {
		err := wholefile.Write(path, 0o640, func(f *os.File) error {
			under := filepath.Base(f.Name())
			if !wholefile.IsTemp(under) || filepath.Ext(under) == ".txt" || filepath.Dir(f.Name()) != dir {
				t.Errorf("under way it is called %s", f.Name())
			}
			return write(text)(f)
		})
		if err != nil {
			t.Fatal(err)
		}
		only(t, dir, "list.txt", text)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
	if wholefile.IsTemp("list.txt") {
		t.Error("a finished file is taken for one under way")
	}
}

func TestAFailureLeavesAllAsItWas(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "list.txt")
	if err := wholefile.Write(path, 0o644, write("before")); err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	err := wholefile.Write(path, 0o644, func(f *os.File) error {
		return errors.Join(write("half")(f), full)
	})
	if !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
	only(t, dir, "list.txt", "before")

	// The rename fails: a directory that is not empty is in its place.
	if err := os.MkdirAll(filepath.Join(dir, "sub", "taken", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := wholefile.Write(filepath.Join(dir, "sub", "taken"), 0o644, write("text")); err == nil {
		t.Error("a directory was replaced")
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "sub")); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := wholefile.Write(filepath.Join(dir, "none", "list.txt"), 0o644, write("text")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a directory: %v", err)
	}
}

func TestANameWithoutDirectory(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := wholefile.Write("list.txt", 0o644, write("text")); err != nil {
		t.Fatal(err)
	}
	only(t, dir, "list.txt", "text")
}
