package sink

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Lock is the right to change an output directory. One process has it at a
// time, whatever it does. It ends with the process, however that ends: the
// lock is the kernel's (flock), the file only says who holds it.
type Lock struct {
	out  string
	file *os.File
	// made says that the output directory was not there before.
	made bool
}

// holder is what the lock file says of the process that holds the lock.
type holder struct {
	Kind  string    `json:"kind"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// LockedError says that another process has the lock.
type LockedError struct {
	Out   string
	Kind  string    // what it does: a kind of crawl, or another command; empty if not known
	PID   int       // 0 if not known
	Since time.Time // zero if not known
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s is in use by another process", e.Out)
	}
	return fmt.Sprintf("%s is in use: %s, process %d, since %s", e.Out, e.Kind, e.PID, e.Since.UTC().Format(time.RFC3339))
}

// AcquireLock takes the lock of the output directory out, which it makes if
// need be, and waits for nobody: a lock that is held is a *LockedError. doing
// says to others what for: a kind of crawl, or the name of a command; now says
// since when.
func AcquireLock(out, doing string, now time.Time) (*Lock, error) {
	_, err := os.Stat(out)
	made := errors.Is(err, os.ErrNotExist)
	file, err := lockedFile(out)
	if err != nil {
		return nil, err
	}
	if err := say(file, holder{Kind: doing, PID: os.Getpid(), Since: now.UTC().Truncate(time.Second)}); err != nil {
		return nil, errors.Join(fmt.Errorf("locking the output directory %s: %w", out, err), file.Close())
	}
	return &Lock{out: out, file: file, made: made}, nil
}

// lockedFile opens and locks the lock file. A file that its holder removed
// meanwhile locks nothing: then the next one is made.
func lockedFile(out string) (*os.File, error) {
	const rounds = 100
	for range rounds {
		if err := makeStateDir(out); err != nil {
			return nil, err
		}
		file, err := os.OpenFile(lockPath(out), os.O_RDWR|os.O_CREATE, 0o644)
		if errors.Is(err, os.ErrNotExist) {
			continue // removed with its directory
		}
		if err != nil {
			return nil, fmt.Errorf("locking the output directory: %w", err)
		}
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(whoHolds(file, out), file.Close())
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("locking the output directory %s: %w", out, err), file.Close())
		}
		if inPlace(file, lockPath(out)) {
			return file, nil
		}
		if err := file.Close(); err != nil {
			return nil, fmt.Errorf("locking the output directory %s: %w", out, err)
		}
	}
	return nil, fmt.Errorf("locking the output directory %s: its lock file is gone as soon as it is made; is %s a link to nowhere?", out, filepath.Join(out, stateDir))
}

// inPlace says whether the open file is still the one at path.
func inPlace(file *os.File, path string) bool {
	mine, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// Holder says who has the lock of the output directory out; nil: nobody. It
// keeps nobody from taking it, unless a number of a process that was killed has
// come to a new one: then for an instant.
func Holder(out string) (_ *LockedError, err error) {
	file, err := os.Open(lockPath(out))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("asking who holds the lock: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var locked *LockedError
	if err := whoHolds(file, out); !errors.As(err, &locked) {
		return nil, err
	}
	if locked.PID == 0 {
		return nil, nil
	}
	switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); {
	case err == nil:
		return nil, nil // the close gives it back
	case errors.Is(err, syscall.EWOULDBLOCK):
		return locked, nil
	default:
		return nil, fmt.Errorf("asking who holds the lock: %w", err)
	}
}

// Release gives the lock up. An output directory that was made with the lock
// and holds nothing else goes with it: a start that was refused leaves nothing
// behind.
func (l *Lock) Release() error {
	err := l.file.Truncate(0)
	if l.made && holdsOnly(l.out, stateDir) && holdsOnly(filepath.Join(l.out, stateDir), lockFile) {
		err = errors.Join(err, os.Remove(lockPath(l.out)), os.Remove(filepath.Join(l.out, stateDir)), os.Remove(l.out))
	}
	if err := errors.Join(err, l.file.Close()); err != nil {
		return fmt.Errorf("unlocking the output directory: %w", err)
	}
	return nil
}

// holdsOnly says whether name is all that dir holds.
func holdsOnly(dir, name string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 1 && entries[0].Name() == name
}

// say writes who holds the lock. The old text goes first, so that nobody reads
// half of each.
func say(file *os.File, h holder) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err = file.WriteAt(append(text, '\n'), 0)
	return err
}

// whoHolds reads who holds the lock. In the instant in which the holder has it
// and has not said so, the file is empty or tells of an earlier process.
func whoHolds(file *os.File, out string) error {
	text, err := io.ReadAll(io.LimitReader(file, 4096))
	if err != nil {
		return fmt.Errorf("reading who holds the lock of %s: %w", out, err)
	}
	locked := &LockedError{Out: out}
	var h holder
	if json.Unmarshal(text, &h) == nil && alive(h.PID) {
		locked.Kind, locked.PID, locked.Since = h.Kind, h.PID, h.Since
	}
	return locked
}

// alive says whether there is such a process; signal 0 only asks.
func alive(pid int) bool {
	return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
