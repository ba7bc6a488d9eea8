package sources

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// entryReader reads the entries of a list. The first entry decides between the
// two formats: `rank,domain` as Tranco writes it, or one name a line.
type entryReader struct {
	lines  *lineReader
	seen   bool  // an entry was read, so ranked is decided
	ranked bool  // rank,domain
	rank   int64 // of the entry read last
}

func newEntryReader(file string, r io.Reader) *entryReader {
	return &entryReader{lines: newLineReader(file, r)}
}

// next returns the next entry's rank and its name as given, valid until the
// next call. After the last entry the error is io.EOF; any other is a
// *ListError.
func (e *entryReader) next() (rank int64, name []byte, err error) {
	for {
		line, err := e.lines.next()
		if err != nil {
			return 0, nil, err
		}
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) == 0 || trimmed[0] == '#' {
			continue
		}
		if !e.seen {
			if err := e.detect(trimmed); err != nil {
				return 0, nil, err
			}
		}
		if e.ranked {
			return e.rankedEntry(line)
		}
		e.rank++
		name, _, _ = bytes.Cut(line, []byte("#"))
		return e.rank, name, nil
	}
}

// detect decides the format by the first entry.
func (e *entryReader) detect(line []byte) error {
	e.seen = true
	if line[0] == '<' {
		return e.lines.fault("this is a web page (HTML), not a list of domains")
	}
	if line[0] == '{' {
		return e.lines.fault("this is JSON, not a list of domains")
	}
	before, _, comma := bytes.Cut(line, []byte(","))
	if !comma {
		return nil
	}
	if _, ok := parseRank(before); !ok {
		return e.lines.fault("neither rank,domain nor one name a line; take away a header line, and give no other columns")
	}
	e.ranked = true
	return nil
}

// rankedEntry reads one line of a rank,domain list and demands that its rank
// follows the one before: a gap is a lost piece of the list.
func (e *entryReader) rankedEntry(line []byte) (int64, []byte, error) {
	before, name, _ := bytes.Cut(line, []byte(","))
	rank, ok := parseRank(before)
	if !ok || len(bytes.TrimSpace(name)) == 0 || bytes.IndexByte(name, ',') >= 0 {
		return 0, nil, e.lines.fault("this line is not rank,domain as the lines before it; is the list cut short or joined from two?")
	}
	if e.rank != 0 && rank != e.rank+1 {
		return 0, nil, e.lines.fault(fmt.Sprintf("rank %d follows rank %d; ranks must go up by one, so this list is not whole", rank, e.rank))
	}
	e.rank = rank
	return rank, name, nil
}

// parseRank reads a positive decimal number without sign or leading zero.
func parseRank(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 18 || b[0] == '0' {
		return 0, false
	}
	var n int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// summary is what one reading of a whole list tells.
type summary struct {
	entries int64
	first   int64  // rank of the first entry
	ranked  bool   // rank,domain
	closed  bool   // the last line has its line feed
	sha256  string // hex, of the bytes after decompression
}

// summarise reads a list from end to end. It gives up at more than limit
// entries when limit is not 0. An empty list is an error.
func summarise(ctx context.Context, file string, r io.Reader, limit int64) (summary, error) {
	hash := sha256.New()
	e := newEntryReader(file, io.TeeReader(r, hash))
	var s summary
	for {
		rank, _, err := e.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return summary{}, err
		}
		if s.entries == 0 {
			s.first = rank
		}
		s.entries++
		if limit != 0 && s.entries > limit {
			return summary{}, e.lines.fault("more than the " + strconv.FormatInt(limit, 10) + " entries expected")
		}
		if s.entries%4096 == 0 && ctx.Err() != nil {
			return summary{}, fmt.Errorf("read %s: %w", file, ctx.Err())
		}
	}
	if s.entries == 0 {
		return summary{}, &ListError{File: file, Msg: "the list is empty; nothing to crawl"}
	}
	s.ranked, s.closed = e.ranked, !e.lines.open
	s.sha256 = hex.EncodeToString(hash.Sum(nil))
	return s, nil
}
