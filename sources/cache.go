package sources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agentcensus/sink/wholefile"
)

// The cache has two files for a list: tranco-ID.csv, decompressed, and its
// checksum beside it. Temporary files begin with a dot.

// staleTemp is the age at which a temporary file belongs to nobody any more; a
// download takes minutes.
const staleTemp = 24 * time.Hour

func (t *tranco) csvPath(id string) string { return filepath.Join(t.cache, "tranco-"+id+".csv") }
func (t *tranco) sumPath(id string) string { return t.csvPath(id) + ".sha256" }

// keep verifies the download in raw and puts it, decompressed, into the cache.
// The checksum goes first, so that a list in the cache always has its own.
func (t *tranco) keep(ctx context.Context, id, url, raw string) error {
	err := wholefile.Write(t.csvPath(id), 0o644, func(f *os.File) (err error) {
		r, err := openFile(raw, url)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		s, err := summarise(ctx, url, io.TeeReader(r, f), t.o.WantEntries)
		if err != nil {
			return err
		}
		if msg := t.incomplete(s); msg != "" {
			return &ListError{File: url, Msg: msg}
		}
		sum := s.sha256 + "  " + filepath.Base(t.csvPath(id)) + "\n" // as sha256sum -c reads it
		return wholefile.Write(t.sumPath(id), 0o644, func(f *os.File) error {
			_, err := f.WriteString(sum)
			return err
		})
	})
	// What is wrong with a download is not the operator's file to mend.
	var bad *ListError
	if errors.As(err, &bad) {
		msg := "the download is no whole list: " + bad.Msg
		if bad.Line > 0 {
			msg = fmt.Sprintf("the download is no whole list: line %d: %s", bad.Line, bad.Msg)
		}
		return &DownloadError{URL: url, Status: http.StatusOK, Msg: msg, Err: bad.Err}
	}
	return err
}

// incomplete says what keeps a list from being one of Tranco's, "" if nothing.
func (t *tranco) incomplete(s summary) string {
	switch {
	case !s.ranked:
		return "it has no ranks"
	case s.first != 1:
		return fmt.Sprintf("it begins at rank %d", s.first)
	case s.entries != t.o.WantEntries:
		return fmt.Sprintf("it has %d entries of %d", s.entries, t.o.WantEntries)
	case !s.closed:
		// Its writer ends every line, so the last name may be a piece of one.
		return "its last line is cut"
	}
	return ""
}

// cached opens the list with this ID from the cache, nil when it is not there.
// No request is made. A list that has changed since it was put there is an
// error: an ID stands for one list for ever.
func (t *tranco) cached(ctx context.Context, id string) (*List, error) {
	path := t.csvPath(id)
	sum, err := os.ReadFile(t.sumPath(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the checksum of a list: %w", err)
	}
	list, err := openPath(ctx, Info{Source: SourceTranco, ListID: id, Path: path}, path, t.o.Limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if want, _, _ := strings.Cut(string(sum), " "); want != list.info.SHA256 {
		return nil, &ListError{File: path, Msg: "is not the list that was downloaded (its checksum differs); remove it and it is downloaded again"}
	}
	return list, nil
}

// sweep removes what downloads that were killed have left in the cache.
func (t *tranco) sweep() error {
	entries, err := os.ReadDir(t.cache)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for old downloads: %w", err)
	}
	for _, e := range entries {
		download := strings.HasPrefix(e.Name(), ".tranco-") && strings.HasSuffix(e.Name(), ".tmp")
		if !download && !wholefile.IsTemp(e.Name()) {
			continue
		}
		path := filepath.Join(t.cache, e.Name())
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process was quicker
		}
		if err != nil {
			return fmt.Errorf("look for old downloads: %w", err)
		}
		if t.o.Now().Sub(info.ModTime()) < staleTemp {
			continue // it may be under way in another process
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove an old download: %w", err)
		}
	}
	return nil
}
