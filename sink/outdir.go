package sink

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"agentcensus/sink/state"
)

// What lies under OUT/.state: the lock for good, and for each kind with an
// unfinished crawl its state and its copy of a list that cannot be had again. The
// status file tells of the crawl that runs or was stopped last.
const (
	stateDir   = ".state"
	lockFile   = "lock"
	statusFile = "status.json"
)

func lockPath(out string) string             { return filepath.Join(out, stateDir, lockFile) }
func statePath(out string, kind Kind) string { return filepath.Join(out, stateDir, string(kind)+".db") }

// ListCopyPath is where the list of a crawl is kept when it cannot be had again:
// it came by standard input, or from tables that may change. The caller writes
// it; [Crawl.Finish] removes it.
func ListCopyPath(out string, kind Kind) string {
	return filepath.Join(out, stateDir, string(kind)+".list")
}

// makeStateDir makes OUT and OUT/.state, durably: what is begun there must not
// be lost with its directory.
func makeStateDir(out string) error {
	if info, err := os.Stat(out); err == nil && !info.IsDir() {
		return fmt.Errorf("the output directory %s is a file", out)
	}
	root := filepath.Clean(out)
	for root != filepath.Dir(root) {
		if _, err := os.Stat(root); err == nil {
			break
		}
		root = filepath.Dir(root)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("making the output directory: %w", err)
	}
	// The state holds rows that may yet be forgotten: for its owner alone.
	inside := filepath.Join(out, stateDir)
	if err := os.Mkdir(inside, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("making the output directory: %w", err)
	}
	if err := syncDirs(root, inside); err != nil {
		return fmt.Errorf("making the output directory: %w", err)
	}
	return nil
}

// ListInfo says which list a crawl walks.
type ListInfo struct {
	Source  string `json:"source"`
	ListID  string `json:"list_id"`
	SHA256  string `json:"sha256"` // lower-case hex; empty when it has none
	Entries int64  `json:"entries"`
}

// Header is what the state of an unfinished crawl says of it.
type Header struct {
	Kind      Kind              `json:"kind"`
	Started   time.Time         `json:"started"`
	Simulated bool              `json:"simulated"`
	List      ListInfo          `json:"list"`
	Settings  map[string]string `json:"settings"` // the settings that matter
}

// Date is the crawl's name: the UTC date of its start, YYYY-MM-DD.
func (h Header) Date() string { return h.Started.UTC().Format(time.DateOnly) }

// Unfinished returns the header of the unfinished crawl of kind, nil when there
// is none. Then it removes what a process killed in the last steps of its crawl
// may have left: a copy of a list holds names of sites without a card.
func (l *Lock) Unfinished(kind Kind) (*Header, error) {
	h, err := peek(l.out, kind)
	if err != nil || h != nil {
		return h, err
	}
	return nil, discard(l.out, kind)
}

// UnfinishedKinds lists the kinds that have an unfinished crawl under out,
// running or not. It reads no state and takes no lock.
func UnfinishedKinds(out string) ([]Kind, error) {
	var kinds []Kind
	for _, kind := range Kinds {
		_, err := os.Stat(statePath(out, kind))
		if err == nil {
			kinds = append(kinds, kind)
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("looking for unfinished crawls: %w", err)
		}
	}
	return kinds, nil
}

// peek is [Lock.Unfinished] that removes nothing.
func peek(out string, kind Kind) (*Header, error) {
	raw, err := state.Peek(statePath(out, kind))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, notRead(kind, err)
	}
	return parseHeader(kind, raw)
}

func parseHeader(kind Kind, raw state.Header) (*Header, error) {
	h := new(Header)
	if err := json.Unmarshal(raw.Settings, h); err != nil {
		return nil, cannotGoOn(kind, fmt.Errorf("its header cannot be read: %w", err))
	}
	if h.Kind != kind {
		return nil, cannotGoOn(kind, fmt.Errorf("its state is of a crawl of the kind %s", h.Kind))
	}
	return h, nil
}

// UnreadableError says that the state of an unfinished crawl could not be read
// for a reason that is not its own, such as its mode: once that is seen to, the
// crawl goes on.
type UnreadableError struct {
	Kind Kind
	Err  error
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("the state of the unfinished %s crawl cannot be read: %v", e.Kind, e.Err)
}

func (e *UnreadableError) Unwrap() error { return e.Err }

// notRead is the error of a state that was not read: what is wrong with the
// file itself stays wrong.
func notRead(kind Kind, err error) error {
	var refusal *state.Error
	if errors.As(err, &refusal) && refusal.Kind != state.Busy {
		return cannotGoOn(kind, err)
	}
	return &UnreadableError{Kind: kind, Err: err}
}

func cannotGoOn(kind Kind, err error) error {
	return fmt.Errorf("the unfinished %s crawl cannot go on, only be abandoned: %w", kind, err)
}

// discard removes the state of a kind and what belongs to it.
func discard(out string, kind Kind) error {
	err := errors.Join(state.Remove(statePath(out, kind)), removeFile(ListCopyPath(out, kind)))
	if s, unread := ReadStatus(out); unread != nil || s.Kind == string(kind) {
		status := filepath.Join(out, stateDir, statusFile)
		err = errors.Join(err, removeFile(status), removeFile(status+".new"))
	}
	if err != nil {
		return fmt.Errorf("removing the state of the %s crawl: %w", kind, err)
	}
	return nil
}

// discardUnpublished removes the tables of crawls of a kind that never got
// their row in crawls.
func discardUnpublished(out string, kind Kind) error {
	for _, l := range layouts {
		files, err := Files(out, l.name)
		if err != nil {
			return err
		}
		for _, file := range files {
			crawls := TablePath(out, TableName[CrawlRow](), file.Kind, file.Crawl)
			if _, err := os.Stat(crawls); file.Kind != string(kind) || !errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err := removeFile(file.Path); err != nil {
				return fmt.Errorf("removing what an abandoned crawl wrote: %w", err)
			}
		}
	}
	return nil
}

// removeFile removes a file that may be gone already.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
