// Package sources tells the crawl where to go and where not to: it reads the
// list of sites (Tranco's, a file, standard input), brings every name into one
// form, and keeps the domains that asked to be left alone.
//
// It promises that a list is whole before its first site is handed out: Open
// reads it once from end to end, so that a gap in the ranks, a truncated
// download or a web page in its place is an error and never a shorter list.
// Sites are then streamed, a million of them in flat memory, and every entry
// comes out exactly once with its rank, unusable names included.
//
// It leaves to others what is done with a site: telling repeated names apart,
// counting, and asking OptOut before every request.
package sources

import "fmt"

// Site is one entry of a list.
type Site struct {
	// Rank is the entry's rank, 1 or more; in a list without ranks its running
	// number.
	Rank int64
	// Domain is a name in lower case without a trailing dot, every label of it
	// ASCII (an A-label where it is internationalised). When Invalid is set it
	// is the entry as given.
	Domain string
	// Invalid says why the entry cannot be crawled, one of the Reason
	// constants; "" for a usable name.
	Invalid string
}

// ListError is a fault in a file that a person wrote or named: a list, an
// opt-out file. It says where and what to do about it.
type ListError struct {
	File string // as the operator named it
	Line int    // 1-based; 0 when the fault is not of one line
	Msg  string // what is wrong and what to do
	Err  error  // the cause, nil if there is none beyond Msg
}

func (e *ListError) Error() string {
	s := e.File
	if e.Line > 0 {
		s = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	s += ": " + e.Msg
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *ListError) Unwrap() error { return e.Err }
