package sink

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary runs itself as another process; these say as which.
const (
	childOut  = "SINK_TEST_OUT"
	childRole = "SINK_TEST_ROLE"
)

// TestChild is the other process of the tests below; by itself it does nothing.
func TestChild(t *testing.T) {
	out := os.Getenv(childOut)
	switch os.Getenv(childRole) {
	case "holder":
		holdLock(t, out)
	case "full":
		crawlOnFullDisk(t, out)
	default:
		t.Skip("run by other tests")
	}
}

func otherProcess(t *testing.T, role, out string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$", "-test.v")
	cmd.Env = append(os.Environ(), childRole+"="+role, childOut+"="+out)
	return cmd
}

// holdLock holds the lock until its standard input ends.
func holdLock(t *testing.T, out string) {
	_, err := AcquireLock(out, string(Weekly), aTuesday)
	noError(t, err)
	fmt.Println("\nlocked")
	_, err = io.Copy(io.Discard, os.Stdin)
	noError(t, err)
}

func TestTwoProcesses(t *testing.T) {
	out := t.TempDir()
	holder := otherProcess(t, "holder", out)
	stdout, err := holder.StdoutPipe()
	noError(t, err)
	_, err = holder.StdinPipe() // kept open: the holder waits for its end
	noError(t, err)
	noError(t, holder.Start())
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "locked" {
	}
	if lines.Text() != "locked" {
		t.Fatal("the other process did not get the lock")
	}

	_, err = OpenCrawl(t.Context(), crawlOptions(out, 1))
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Kind != "weekly" || locked.PID != holder.Process.Pid || !locked.Since.Equal(aTuesday) {
		t.Errorf("got %v", err)
	}

	// Killed, it leaves its text behind and no lock.
	noError(t, holder.Process.Kill())
	if _, err := io.Copy(io.Discard, stdout); err != nil {
		t.Error(err)
	}
	if err := holder.Wait(); err == nil {
		t.Error("the holder ended by itself")
	}
	if text, err := os.ReadFile(lockPath(out)); err != nil || !strings.Contains(string(text), "weekly") {
		t.Fatalf("the stale lock file says %q (%v)", text, err)
	}
	open(t, crawlOptions(out, 1))
}

func TestALockIsHeldOnceInAProcessToo(t *testing.T) {
	out := t.TempDir()
	lock, err := AcquireLock(out, "forget", aTuesday)
	noError(t, err)
	_, err = AcquireLock(out, "forget", aTuesday)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("got %v", err)
	}
	if want := fmt.Sprintf("%s is in use: forget, process %d, since 2026-12-01T03:04:05Z", out, os.Getpid()); err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	noError(t, lock.Release())
	lock, err = AcquireLock(out, "forget", aTuesday)
	noError(t, err)
	noError(t, lock.Release())
}

// crawlOnFullDisk settles publishers until no file may grow any more.
func crawlOnFullDisk(t *testing.T, out string) {
	signal.Ignore(syscall.SIGXFSZ) // which would end the process
	limit := syscall.Rlimit{Cur: 3 << 20, Max: 3 << 20}
	noError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	c, err := OpenCrawl(t.Context(), crawlOptions(out, fullEntries))
	noError(t, err)
	defer func() {
		if err := c.Close(); !errors.Is(err, syscall.EFBIG) {
			t.Errorf("Close: %v", err)
		}
	}()
	if err := settleBulky(t, c); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("the disk never got full: %v", err)
	}
}

// settleBulky settles what is left of a crawl of bulky publishers.
func settleBulky(t *testing.T, c *Crawl) error {
	var left []int64
	for entry := int64(1); entry <= fullEntries; entry++ {
		if !c.Skip(entry) {
			left = append(left, entry)
		}
	}
	for group := range slices.Chunk(left, fullGroup) {
		if err := c.Begin(t.Context(), group); err != nil {
			return err
		}
		for _, entry := range group {
			if err := c.Settle(t.Context(), bulky(entry)); err != nil {
				return err
			}
		}
	}
	return nil
}

// fullEntries are begun by groups, as a crawl begins them: each Begin waits for
// company.
const (
	fullEntries = 200
	fullGroup   = 20
)

// bulky is a publisher whose card does not compress.
func bulky(rank int64) Record {
	r := published(rank, fmt.Sprintf("site-%d.example", rank))
	var text strings.Builder
	for seed := uint64(rank); text.Len() < 40_000; {
		seed = seed*6364136223846793005 + 1442695040888963407
		fmt.Fprintf(&text, "%x", seed)
	}
	r.Card.CardJSON = new(text.String())
	return r
}

func TestAFullDiskStopsTheCrawlResumable(t *testing.T) {
	out := t.TempDir()
	if text, err := otherProcess(t, "full", out).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	c := open(t, crawlOptions(out, fullEntries))
	before := c.Settled()
	if !c.Resumed() || before < 20 {
		t.Fatalf("resumed %t with %d sites settled", c.Resumed(), before)
	}
	noError(t, settleBulky(t, c))
	summary, err := c.Finish(t.Context(), Facts{})
	noError(t, err)
	if summary.Crawl.Sites != fullEntries || summary.Crawl.Suppressed != 0 {
		t.Errorf("%d sites, %d cards without a row", summary.Crawl.Sites, summary.Crawl.Suppressed)
	}
}

// The lock is held without a gap from the first look at the directory to the
// crawl that is opened there, and is gone when no crawl comes of it.
func TestLockIsHandedToTheCrawl(t *testing.T) {
	o := crawlOptions(t.TempDir(), 3)
	lock, err := AcquireLock(o.Out, string(o.Kind), o.Now())
	noError(t, err)
	if h, err := lock.Unfinished(o.Kind); h != nil || err != nil {
		t.Fatalf("unfinished: %+v, %v", h, err)
	}
	if _, err := OpenCrawl(t.Context(), o); !errors.As(err, new(*LockedError)) {
		t.Errorf("opened although the lock is held: %v", err)
	}
	o.Lock = lock
	c := open(t, o)
	settle(t, c, withoutCard(1))
	if _, err := AcquireLock(o.Out, "forget", o.Now()); !errors.As(err, new(*LockedError)) {
		t.Errorf("the lock is free while the crawl is open: %v", err)
	}
	noError(t, c.Close())

	o.Lock, err = AcquireLock(o.Out, string(o.Kind), o.Now())
	noError(t, err)
	if h, err := o.Lock.Unfinished(o.Kind); err != nil || h == nil || h.List.ListID != "LJX2Y" {
		t.Errorf("unfinished: %+v, %v", h, err)
	}
	o.List.ListID = "OTHER"
	if _, err := OpenCrawl(t.Context(), o); !errors.As(err, new(*SettingsError)) {
		t.Errorf("another list: %v", err)
	}
	lock, err = AcquireLock(o.Out, "forget", o.Now())
	noError(t, err)
	noError(t, lock.Release())
}

// Killed between the last steps of a crawl, a process leaves the copy of its
// list behind, which names every site: the next one removes it.
func TestOrphanedListIsRemoved(t *testing.T) {
	o := crawlOptions(t.TempDir(), 1)
	lock, err := AcquireLock(o.Out, string(o.Kind), o.Now())
	noError(t, err)
	copied := ListCopyPath(o.Out, o.Kind)
	noError(t, os.WriteFile(copied, []byte("alpha.example\n"), 0o644))
	_, err = lock.Unfinished(o.Kind)
	noError(t, err)
	if _, err := os.Stat(copied); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the list is still there: %v", err)
	}
	noError(t, lock.Release())
}

// A start that is refused before anything is written leaves nothing behind,
// and takes nothing away that was there before.
// The state lies on a disk that is not there: no reason to try for ever.
func TestALockBehindALinkToNowhere(t *testing.T) {
	out := t.TempDir()
	if err := os.Symlink(filepath.Join(t.TempDir(), "unmounted"), filepath.Join(out, ".state")); err != nil {
		t.Fatal(err)
	}
	if _, err := AcquireLock(out, "adhoc", time.Now()); err == nil || !strings.Contains(err.Error(), "link to nowhere") {
		t.Errorf("AcquireLock = %v", err)
	}
}

func TestALockThatWasNotUsedLeavesNothing(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	lock, err := AcquireLock(out, "adhoc", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the output directory is left: %v", err)
	}
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	if lock, err = AcquireLock(out, "adhoc", time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(out); err != nil {
		t.Errorf("a directory that was there is gone: %v", err)
	}
}
