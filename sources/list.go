package sources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agentcensus/sink/wholefile"
)

// Options say how a list is opened. The zero value reads files.
type Options struct {
	// Limit is the number of entries handed out at most, from the top; 0 for
	// all. The list is read whole at Open all the same.
	Limit int64

	// Stdin is what the list named - is read from.
	Stdin io.Reader
	// StdinCopy is the file that Stdin is copied to, since a list is read more
	// than once; its directory is made. Needed for the list named -.
	StdinCopy string
	// Resume takes the copy that is there already and leaves Stdin unread.
	Resume bool

	// CacheDir holds the lists downloaded; "" for agentcensus in the user's
	// cache directory.
	CacheDir string
	// BaseURL is Tranco's site; "" for https://tranco-list.eu.
	BaseURL string
	// HTTP makes the requests to BaseURL; nil for http.DefaultClient.
	HTTP *http.Client
	// UserAgent is sent with them when it is not "".
	UserAgent string
	// Now is the clock; nil for time.Now.
	Now func() time.Time
	// Pause lies between two metadata requests, as Tranco answers 429 to more
	// than one in about two seconds; 0 for 2.5 s.
	Pause time.Duration
	// WantEntries is how many entries a list of Tranco has; 0 for 1,000,000.
	WantEntries int64
	// MaxDownload bounds a download in bytes; 0 for 200 MB.
	MaxDownload int64
}

// Kinds of source, as in Info.Source.
const (
	SourceTranco = "tranco"
	SourceFile   = "file"
	SourceStdin  = "stdin"
)

// Info describes a list, for the record of the crawl and to know it again.
type Info struct {
	Source  string // SourceTranco, SourceFile or SourceStdin
	ListID  string // Tranco's permanent ID; "" for the others
	SHA256  string // hex, of the whole list's bytes after decompression
	Entries int64  // how many Sites yields: Options.Limit at most
	First   int64  // the rank of the first
	Path    string // the file read
}

// List is a list that was found whole. It holds no file open and little memory,
// and may be used by several goroutines.
type List struct {
	info Info
	name string      // for errors
	stat fs.FileInfo // of Path when it was read at Open
}

// Open opens the list called name and reads it once to see that it is whole:
//
//   - tranco: Tranco's newest list. Its ID is asked for and then as below.
//   - tranco:ID: the list of Tranco with this permanent ID, from the cache or
//     downloaded into it.
//   - - : standard input, copied to Options.StdinCopy first.
//   - anything else: the path of a file, plain, gzip, zstd, or a ZIP archive of
//     one file. A file that is called tranco is reached as ./tranco.
//
// A list has either `rank,domain` lines with ranks that go up by one, or one
// name a line, its rank being its running number. Lines that are blank or begin
// with # are passed over; after a name without rank # begins a comment.
//
// A fault of the list is a *ListError, a download that failed a *DownloadError.
func Open(ctx context.Context, name string, o Options) (*List, error) {
	switch {
	case name == "tranco", strings.HasPrefix(name, "tranco:"):
		return openTranco(ctx, name, o)
	case name == "-":
		return openStdin(ctx, o)
	}
	return openPath(ctx, Info{Source: SourceFile, Path: name}, name, o.Limit)
}

// openPath reads the file info.Path, called name in errors, and completes info.
func openPath(ctx context.Context, info Info, name string, limit int64) (_ *List, err error) {
	f, err := openFile(info.Path, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s, err := summarise(ctx, name, f, 0)
	if err != nil {
		return nil, err
	}
	info.SHA256, info.Entries, info.First = s.sha256, s.entries, s.first
	if limit > 0 {
		info.Entries = min(limit, s.entries)
	}
	return &List{info: info, name: name, stat: f.info}, nil
}

// openStdin copies standard input to a file and reads that. A list with a fault
// leaves no copy.
func openStdin(ctx context.Context, o Options) (*List, error) {
	info := Info{Source: SourceStdin, Path: o.StdinCopy}
	if o.StdinCopy == "" || o.Stdin == nil {
		return nil, &ListError{File: "standard input", Msg: "cannot be a list here; name a file"}
	}
	if o.Resume {
		if _, err := os.Stat(o.StdinCopy); err == nil {
			return openPath(ctx, info, o.StdinCopy, o.Limit)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, &ListError{File: o.StdinCopy, Msg: "cannot be examined", Err: err}
		}
	}
	if err := os.MkdirAll(filepath.Dir(o.StdinCopy), 0o755); err != nil {
		return nil, fmt.Errorf("copy standard input: %w", err)
	}
	var list *List
	err := wholefile.Write(o.StdinCopy, 0o644, func(f *os.File) error {
		if _, err := io.Copy(f, o.Stdin); err != nil {
			return fmt.Errorf("copy standard input: %w", err)
		}
		var err error
		list, err = openPath(ctx, Info{Source: SourceStdin, Path: f.Name()}, "standard input", o.Limit)
		return err
	})
	var bad *ListError
	if errors.As(err, &bad) {
		return nil, bad // of the list; that its copy was not kept goes without saying
	}
	if err != nil {
		return nil, err
	}
	list.info.Path, list.name = o.StdinCopy, o.StdinCopy
	return list, nil
}

// Info describes the list.
func (l *List) Info() Info { return l.info }

// Sites yields the list's entries in order, names normalised, reading the file
// anew at each call. An error is the last thing yielded; the list was whole at
// Open, so it says that the file was changed since or cannot be read any more.
func (l *List) Sites() iter.Seq2[Site, error] {
	return func(yield func(Site, error) bool) {
		f, err := openFile(l.info.Path, l.name)
		if err != nil {
			yield(Site{}, err)
			return
		}
		stopped, err := l.yieldSites(f, yield)
		if err = errors.Join(err, f.Close()); err != nil && !stopped {
			yield(Site{}, err)
		}
	}
}

// yieldSites yields the entries of f; stopped says that the consumer wants no
// more.
func (l *List) yieldSites(f *listFile, yield func(Site, error) bool) (stopped bool, err error) {
	if !os.SameFile(l.stat, f.info) || l.stat.Size() != f.info.Size() || !l.stat.ModTime().Equal(f.info.ModTime()) {
		return false, &ListError{File: l.name, Msg: "was changed while in use; leave a list alone until its crawl is complete"}
	}
	e := newEntryReader(l.name, f)
	for range l.info.Entries {
		rank, name, err := e.next()
		if errors.Is(err, io.EOF) {
			return false, &ListError{File: l.name, Msg: "is shorter than when it was opened", Err: io.ErrUnexpectedEOF}
		}
		if err != nil {
			return false, err
		}
		if !yield(site(rank, string(name)), nil) {
			return true, nil
		}
	}
	return false, nil
}

// site makes a Site of an entry.
func site(rank int64, name string) Site {
	domain, reason := normalise(name)
	if reason != "" {
		domain = strings.TrimSpace(name)
	}
	return Site{Rank: rank, Domain: domain, Invalid: reason}
}
