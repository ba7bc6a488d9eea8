package sources

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/net/publicsuffix"
)

// OptOut is a set of domains read from a file that may grow while the crawl
// runs. The file has one domain a line, in either form if internationalised; #
// begins a comment.
//
//	example.com       the name, www.example.com and every name below it
//	www.example.com   the same: a site and its www form are one
//	=example.com      the name and www.example.com alone
//	*.example.com     as without the star
//
// A public suffix of either section of the list (co.uk, github.io) is refused
// unless one of the last two forms says that it is meant: the first would
// cover sites of people who asked for nothing.
//
// Its methods are safe for concurrent use. A nil *OptOut covers nothing.
type OptOut struct {
	path     string
	optional bool // a missing file is an empty one
	rules    atomic.Pointer[rules]

	mu    sync.Mutex  // held by a reading of the file; guards state
	state fs.FileInfo // of the file as read last to its end; nil when it was not
	fault string      // why not, as it was told
}

// rules maps a name in its one form to whether all names below are covered too.
type rules map[string]bool

// maxFaults is how many faults of a file are reported at once.
const maxFaults = 10

// LoadOptOut reads the opt-out file at path. Any fault in it is an error that
// joins a *ListError for each line at fault, and so is a missing file: requests
// must not be made past a list that could not be read.
func LoadOptOut(path string) (*OptOut, error) {
	return loadRules(path, false)
}

// LoadSuppressed reads the list of domains of which nothing may be kept. It has
// the same form as the opt-out file, but may be missing: then it is empty.
func LoadSuppressed(path string) (*OptOut, error) {
	return loadRules(path, true)
}

// ParseEntry makes a set of one entry, written as a line of the file would be.
// Nothing is read: Reload and Poll are not for it.
func ParseEntry(line string) (*OptOut, error) {
	name, below, err := parseRule(line)
	if err != nil {
		return nil, err
	}
	o := &OptOut{}
	o.rules.Store(&rules{name: below})
	return o, nil
}

func loadRules(path string, optional bool) (*OptOut, error) {
	o := &OptOut{path: path, optional: optional}
	o.rules.Store(&rules{})
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.read(); err != nil {
		return nil, err
	}
	return o, nil
}

// Covers reports whether the host is covered by an entry. The host is a name
// without port, in any case, with or without a trailing dot, in either form if
// internationalised. It costs a look-up a label.
func (o *OptOut) Covers(host string) bool {
	if o == nil {
		return false
	}
	in := *o.rules.Load()
	if len(in) == 0 {
		return false
	}
	host = hostForm(host)
	if _, ok := in[host]; ok {
		return true
	}
	if _, ok := in[strings.TrimPrefix(host, "www.")]; ok {
		return true
	}
	for i := range len(host) {
		if host[i] == '.' && in[host[i+1:]] {
			return true
		}
	}
	return false
}

// hostForm brings a host into the form of the entries. It accepts what
// Normalise refuses: a site that is covered has hosts with odd labels too.
func hostForm(host string) string {
	if domain, reason := canonical(host); reason == "" {
		return domain
	}
	return strings.TrimSuffix(strings.ToLower(strings.TrimSpace(host)), ".")
}

// Len returns the number of entries.
func (o *OptOut) Len() int {
	if o == nil {
		return 0
	}
	return len(*o.rules.Load())
}

// Reload reads the file again and adds what is new in it; added counts the new
// entries. Entries are never dropped while the crawl runs, whatever became of
// the file: an editor may have saved half of it. When some lines are at fault
// the good ones are added all the same, and the error tells of the others as
// LoadOptOut's does.
func (o *OptOut) Reload() (added int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.read()
}

// Poll is Reload if the file has changed (identity, size or time) since it was
// read last, and costs one stat if not. A file that could not be read is tried
// again at every poll: what hindered it may pass without a change of it. A fault
// is reported once for each change.
func (o *OptOut) Poll() (added int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now, err := os.Stat(o.path); err == nil && o.state != nil && os.SameFile(now, o.state) &&
		now.Size() == o.state.Size() && now.ModTime().Equal(o.state.ModTime()) {
		return 0, nil
	}
	before := o.fault
	added, err = o.read()
	if err != nil && o.state == nil && o.fault == before {
		return added, nil // told already
	}
	return added, err
}

// read reads the file and merges its good lines. o.mu is held.
func (o *OptOut) read() (added int, err error) {
	found, state, err := readRules(o.path)
	switch o.state, o.fault = state, ""; {
	case state != nil:
	case o.optional && errors.Is(err, fs.ErrNotExist):
		err = nil
	case err != nil:
		o.fault = err.Error()
	}
	return o.merge(found), err
}

// readRules reads a file of domains: the good lines, also when there are faults.
// state is nil when it was not read to its end.
func readRules(path string) (_ rules, state fs.FileInfo, err error) {
	f, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, &ListError{File: path, Msg: "there is no such file; make it, if only empty", Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, nil, &ListError{File: path, Msg: "cannot be opened", Err: err}
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// Examined before reading: what is written meanwhile shows as a later change.
	state, err = f.Stat()
	if err != nil {
		return nil, nil, &ListError{File: path, Msg: "cannot be examined", Err: err}
	}
	if !state.Mode().IsRegular() {
		return nil, nil, &ListError{File: path, Msg: "is not a regular file; name a file with one domain a line"}
	}
	lines := newLineReader(path, f)
	found, err := parseRules(lines)
	if lines.dead {
		state = nil
	}
	return found, state, err
}

// merge puts the union of the rules in force and found into force.
func (o *OptOut) merge(found rules) (added int) {
	merged := maps.Clone(*o.rules.Load())
	for name, below := range found {
		old, ok := merged[name]
		if !ok || (below && !old) {
			merged[name] = below
			added++
		}
	}
	if added > 0 {
		o.rules.Store(&merged)
	}
	return added
}

// parseRules reads the lines of a file of domains: the good ones and, joined, the
// faults.
func parseRules(lines *lineReader) (rules, error) {
	found := rules{}
	var faults []error
	for !lines.dead {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = found.add(lines, string(line))
		}
		if err != nil && len(faults) < maxFaults {
			faults = append(faults, err)
		}
	}
	return found, errors.Join(faults...)
}

// add adds the entry of a line, which may have none.
func (r rules) add(lines *lineReader, line string) error {
	text, _, _ := strings.Cut(line, "#")
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	name, below, err := parseRule(text)
	if err != nil {
		return lines.fault(err.Error())
	}
	r[name] = r[name] || below
	return nil
}

// parseRule reads one entry. The error is a sentence for the operator.
func parseRule(text string) (name string, below bool, err error) {
	rest, exact := strings.CutPrefix(text, "=")
	rest, star := strings.CutPrefix(rest, "*.")
	if exact && star {
		return "", false, fmt.Errorf("%q: write either = or *., not both", text)
	}
	name, reason := canonical(rest)
	if reason != "" {
		return "", false, fmt.Errorf("%q is not a domain name (%s); write one domain a line, as example.com", text, reason)
	}
	name = withoutWWW(name)
	if !exact && !star && isSuffix(name) {
		return "", false, fmt.Errorf("%[1]q means %[2]s, a public suffix with sites of many owners below it; write =%[2]s for itself and www.%[2]s alone, or *.%[2]s for all of them", text, name)
	}
	return name, !exact, nil
}

// withoutWWW is the site that a host belongs to: without one leading "www.",
// unless a top-level domain is all that would be left (www.com is a site).
func withoutWWW(host string) string {
	if rest, ok := strings.CutPrefix(host, "www."); ok && strings.Contains(rest, ".") {
		return rest
	}
	return host
}

// isSuffix reports whether the name is a public suffix, of either section, or
// has public suffixes for its children (kawasaki.jp, by the rule *.kawasaki.jp).
func isSuffix(name string) bool {
	suffix, _ := publicsuffix.PublicSuffix(name)
	if suffix == name {
		return true
	}
	child := "x." + name
	suffix, _ = publicsuffix.PublicSuffix(child)
	return suffix == child
}
