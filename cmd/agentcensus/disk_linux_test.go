package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"agentcensus/pipeline/simweb"
	"agentcensus/sink"
)

// A file that may not grow stops the crawl with the reason, and when it may it
// goes on.
func TestFileSizeLimitStopsResumable(t *testing.T) {
	t.Parallel()
	s := newCensus(t, busy(41), 200, reuse...)
	p := s.crawl(t)
	s.requests(t, 150)
	limitFiles(t, p.cmd.Process.Pid, 4096) // less than the state file has
	p.ends(t, exitResumable, "file too large", "the same command goes on with it")
	if strings.Contains(p.err.String(), "goroutine ") {
		t.Errorf("it was ended by the signal:\n%s", p.err)
	}
	l := s.examine(t, sink.Adhoc)
	if l == nil || l.ended == 0 {
		t.Fatalf("left behind: %+v", l)
	}
	// Still full: nothing is lost by trying.
	again := s.limited(t, "-f 8")
	again.ends(t, exitResumable, "file too large")
	still := s.examine(t, sink.Adhoc)
	if still.ended < l.ended {
		t.Errorf("%d sites had ended, now %d", l.ended, still.ended)
	}
	q := s.crawl(t)
	q.ends(t, exitComplete, "is complete")
	s.prove(t, proof{interruptedAtMost: l.open, logs: []string{p.err.String(), again.err.String(), q.out.String(), q.err.String()}})
}

// limitFiles sets the size limit of files of a running process (prlimit(2)).
func limitFiles(t *testing.T, pid int, bytes uint64) {
	t.Helper()
	limit := syscall.Rlimit{Cur: bytes, Max: bytes}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_FSIZE,
		uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		t.Skipf("prlimit: %v", errno)
	}
}

// tmpfs mounts a file system of so many bytes at dir, or skips the test.
func tmpfs(t *testing.T, dir, size string) (resize func(size string)) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	err := syscall.Mount("agentcensus-test", dir, "tmpfs", 0, "size="+size)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENODEV) {
		t.Skipf("no tmpfs can be mounted: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return func(size string) {
		t.Helper()
		if err := syscall.Mount("agentcensus-test", dir, "tmpfs", syscall.MS_REMOUNT, "size="+size); err != nil {
			t.Fatal(err)
		}
	}
}

// A disk that is full in mid-crawl stops the crawl with the reason; nothing that
// was committed is lost, and no table shows.
func TestFullDiskStopsResumable(t *testing.T) {
	t.Parallel()
	c := busy(42)
	c.CardShare, c.CardBytes = 0.7, 100_000
	s := newCensus(t, c, 150, reuse...)
	resize := tmpfs(t, s.out, "120k")
	p := s.crawl(t)
	p.ends(t, exitResumable, "no space left on device", "the same command goes on with it")
	l := s.examine(t, sink.Adhoc)
	if l == nil || l.ended == 0 {
		t.Fatalf("left behind: %+v", l)
	}
	if files, err := filepath.Glob(filepath.Join(s.out, "data", "*", "*", "*", "*")); err != nil || len(files) > 0 {
		t.Errorf("tables of a crawl that is not complete: %v, %v", files, err)
	}
	again := s.crawl(t)
	again.ends(t, exitResumable, "no space left on device")
	resize("64m")
	q := s.crawl(t)
	q.ends(t, exitComplete, "is complete")
	// The disk was full twice: each time what was open is interrupted.
	s.prove(t, proof{interruptedAtMost: 2 * s.openSites(), logs: []string{p.err.String(), again.err.String(), q.out.String(), q.err.String()}})
}

// A disk that is full when the tables are written leaves none of them partial
// and none published, and the crawl is completed when there is room.
func TestFullDiskAtTheEnd(t *testing.T) {
	t.Parallel()
	c := busy(43)
	c.CardShare, c.CardBytes = 0.3, 100_000
	s := newCensus(t, c, 100, reuse...)
	resize := tmpfs(t, filepath.Join(s.out, "data"), "16k")
	p := s.crawl(t)
	p.ends(t, exitResumable, "write the tables", "no space left on device", "the same command goes on with it")
	s.proveWhole(t)
	if files, err := sink.Files(s.out, "crawls"); err != nil || len(files) > 0 {
		t.Errorf("published although it is not whole: %v, %v", files, err)
	}
	for path := range walk(t, filepath.Join(s.out, "data")) {
		if !strings.HasSuffix(path, ".parquet") {
			t.Errorf("left behind: %s", path)
		}
	}
	before := len(s.web.Log())
	resize("64m")
	q := s.crawl(t)
	q.ends(t, exitComplete, "is complete")
	for _, e := range s.web.Log()[before:] {
		if e.Kind == simweb.KindRequest {
			t.Errorf("asked again: %s%s", e.Origin, e.Path)
		}
	}
	s.prove(t, proof{logs: []string{p.err.String(), q.out.String(), q.err.String()}})
}

// A process that may open few files stops with the reason, and blames no site
// for it.
func TestTooManyOpenFilesBlamesNobody(t *testing.T) {
	t.Parallel()
	s := newCensus(t, busy(44), 150, reuse...)
	s.inFlight = 60
	p := s.limited(t, "-n 48")
	p.ends(t, exitResumable, "too many open files", "the same command goes on with it")
	l := s.examine(t, sink.Adhoc)
	if l == nil {
		t.Fatal("there is no state to go on with")
	}
	q := s.crawl(t)
	q.ends(t, exitComplete, "is complete")
	s.prove(t, proof{interruptedAtMost: l.open, logs: []string{p.err.String(), q.out.String(), q.err.String()}})
}
