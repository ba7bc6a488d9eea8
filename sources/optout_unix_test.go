//go:build unix

package sources_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"agentcensus/sources"
)

// What hindered a reading may pass without a change of the file: descriptors are
// there again, or the mode is another.
func TestPollTriesAgainWhatItCouldNotRead(t *testing.T) {
	path := writeFile(t, "optout", []byte("one.example\n"))
	o, err := sources.LoadOptOut(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, "one.example\ntwo.example\n")
	withoutDescriptors(t, func() {
		if _, err := o.Poll(); err == nil {
			t.Error("the fault is not told")
		}
		if _, err := o.Poll(); err != nil {
			t.Errorf("the fault is told again: %v", err)
		}
	})
	if added, err := o.Poll(); added != 1 || err != nil || !o.Covers("two.example") {
		t.Errorf("added %d, %v when it could be read", added, err)
	}
}

// withoutDescriptors lets no file be opened by this process while f runs.
func withoutDescriptors(t *testing.T, f func()) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	none := old
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
			t.Fatal(err)
		}
	}()
	f()
}

// Nobody is waited for to write into a named pipe: it is refused.
func TestANamedPipeIsRefused(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/zero"} {
		_, err := sources.LoadOptOut(path)
		wantListError(t, err, path, 0, "is not a regular file")
		_, err = sources.LoadSuppressed(path)
		wantListError(t, err, path, 0, "is not a regular file")
		_, err = sources.Open(t.Context(), path, sources.Options{})
		wantListError(t, err, path, 0, "is not a regular file")
	}
}
