package state_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentcensus/sink/state"
)

// The test binary runs itself as the process to be killed.
const (
	childEnv = "STATE_TEST_CHILD"
	pathEnv  = "STATE_TEST_PATH"

	childEntries = 20_000
)

// child does what a crawl does to its state and prints what it was promised:
// "b RANK" for a begun rank, "e RANK" for an ended one that was flushed.
func child(mode string) int {
	var err error
	switch mode {
	case "crawl":
		err = childCrawl()
	case "full":
		err = childFullDisk()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func childCrawl() error {
	ctx := context.Background()
	s, err := openOrCreate(os.Getenv(pathEnv), state.Options{BeginDelay: time.Millisecond, EndDelay: 2 * time.Millisecond})
	if err != nil {
		return err
	}
	for rank := range s.Interrupted() {
		if err := s.End(ctx, record(rank)); err != nil {
			return err
		}
	}
	var ranks, ended []int64
	for rank := int64(1); rank <= childEntries; rank++ {
		if !s.Begun(rank) {
			ranks = append(ranks, rank)
		}
	}
	for group := range slices.Chunk(ranks, 20) {
		if err := s.Begin(ctx, group); err != nil {
			return err
		}
		for _, rank := range group {
			fmt.Println("b", rank)
		}
		for _, rank := range group {
			if err := s.End(ctx, record(rank)); err != nil {
				return err
			}
			ended = append(ended, rank)
		}
		if len(ended) >= 100 {
			if err := s.Flush(ctx); err != nil {
				return err
			}
			for _, rank := range ended {
				fmt.Println("e", rank)
			}
			ended = ended[:0]
		}
	}
	return s.Close()
}

func openOrCreate(path string, o state.Options) (*state.Store, error) {
	s, err := state.Open(path, o)
	if errors.Is(err, os.ErrNotExist) {
		return state.Create(path, state.Header{Entries: childEntries}, o)
	}
	return s, err
}

// record is a rank's end: it counts itself, and every tenth has a row.
func record(rank int64) state.Record {
	r := state.Record{Rank: rank, Counters: []state.Counter{{Key: fmt.Sprint("part ", rank%30), Add: []int64{1, rank}}}}
	if rank%10 == 0 {
		r.Rows = []state.Row{{Table: "cards", Data: noise(uint64(rank), 3000)}}
	}
	return r
}

// noise is n bytes that do not compress, drawn from a seed.
func noise(seed uint64, n int) []byte {
	source := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})
	b := make([]byte, n)
	_, _ = source.Read(b) // never fails
	return b
}

func childCommand(t *testing.T, mode, path string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+mode, pathEnv+"="+path)
	return cmd
}

// TestKilledAtAnyInstant kills one process after the other, each going on
// where the one before was killed, and checks after each that what it was
// promised is on the disk and that what is there adds up.
func TestKilledAtAnyInstant(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crawl.db")
	random := rand.New(rand.NewPCG(1, 2))
	promised := map[string]bool{}
	for range 30 {
		cmd := childCommand(t, "crawl", path)
		out, err := cmd.StdoutPipe()
		check(t, err)
		var complaint strings.Builder
		cmd.Stderr = &complaint
		check(t, cmd.Start())
		lines := bufio.NewReader(out)
		killAt := random.IntN(500)
		for n := 0; ; n++ {
			if n == killAt {
				check(t, cmd.Process.Kill())
			}
			// What was promised before the kill took the process counts too; a
			// line without its newline was cut by the kill.
			line, err := lines.ReadString('\n')
			if err == io.EOF && n >= killAt {
				break
			}
			check(t, err)
			promised[strings.TrimSpace(line)] = true
		}
		if err := cmd.Wait(); err == nil || complaint.Len() > 0 {
			t.Fatalf("the process was not killed at work: %v %s", err, complaint.String())
		}
		checkPromises(t, path, promised)
	}
}

func checkPromises(t *testing.T, path string, promised map[string]bool) {
	t.Helper()
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) && len(promised) == 0 {
		return // killed before the file was made
	}
	s, err := state.Open(path, state.Options{})
	check(t, err)
	defer closeStore(t, s)
	for line := range promised {
		var what string
		var rank int64
		if _, err := fmt.Sscan(line, &what, &rank); err != nil {
			t.Fatal(err)
		}
		if what == "b" && !s.Begun(rank) || what == "e" && !s.Ended(rank) {
			t.Fatalf("promised %q, which is not on the disk", line)
		}
	}
	var ended, sum, rows, wantRows int64
	for rank := int64(1); rank <= childEntries; rank++ {
		if s.Ended(rank) {
			ended, sum = ended+1, sum+rank
			if rank%10 == 0 {
				wantRows++
			}
		}
	}
	for _, numbers := range s.Counters() {
		ended, sum = ended-numbers[0], sum-numbers[1]
	}
	for row, err := range s.Rows("cards") {
		check(t, err)
		if !s.Ended(row.Rank) || string(row.Data) != string(noise(uint64(row.Rank), 3000)) {
			t.Fatalf("the row of rank %d is wrong", row.Rank)
		}
		rows++
	}
	if ended != 0 || sum != 0 || rows != wantRows {
		t.Fatalf("ends and counters differ by %d (ranks by %d); %d rows for %d", ended, sum, rows, wantRows)
	}
}

// childFullDisk writes until the file may not grow, then says how it failed.
func childFullDisk() error {
	// Without this the signal ends the process before write can fail.
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 2 << 20, Max: 2 << 20}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := openOrCreate(os.Getenv(pathEnv), state.Options{BeginDelay: time.Microsecond, EndDelay: time.Microsecond})
	if err != nil {
		return err
	}
	for rank := int64(10); rank <= childEntries; rank += 10 {
		err := s.Begin(ctx, []int64{rank})
		if err == nil {
			fmt.Println("b", rank)
			err = s.End(ctx, record(rank))
		}
		if err == nil {
			err = s.Flush(ctx)
		}
		if err == nil {
			fmt.Println("e", rank)
			continue
		}
		if !errors.Is(err, syscall.EFBIG) {
			return fmt.Errorf("not the error of a file too large: %w", err)
		}
		if again := s.Begin(ctx, []int64{1}); !errors.Is(again, syscall.EFBIG) {
			return fmt.Errorf("a later call: %w", again)
		}
		if err := s.Close(); !errors.Is(err, syscall.EFBIG) {
			return fmt.Errorf("Close: %w", err)
		}
		return nil
	}
	return errors.New("the disk never got full")
}

func TestAFullDiskLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crawl.db")
	var complaint strings.Builder
	cmd := childCommand(t, "full", path)
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, complaint.String())
	}
	promised := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		promised[strings.TrimSpace(line)] = true
	}
	if len(promised) == 0 {
		t.Fatal("nothing was written before the disk was full")
	}
	checkPromises(t, path, promised)
}
