package sources

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine bounds a line in bytes: a name has at most 253, the rest is room for
// a rank or a comment.
const maxLine = 4096

// lineReader reads a text file line by line and refuses what is no text.
type lineReader struct {
	r    *bufio.Reader
	file string // for errors
	line int    // number of the line read last, 1-based
	open bool   // the last line had no line feed
	dead bool   // reading failed; there is no going on
}

func newLineReader(file string, r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), file: file}
}

// next returns the next line without its line end, CRLF or LF; it is valid
// until the next call. After the last line the error is io.EOF; any other is a
// *ListError, after which the next line can be read unless dead is set.
func (l *lineReader) next() ([]byte, error) {
	b, err := l.r.ReadSlice('\n')
	if len(b) == 0 && errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	l.line++
	long := len(b) > maxLine
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = l.r.ReadSlice('\n')
	}
	l.dead = err != nil && !errors.Is(err, io.EOF)
	switch {
	case l.dead:
		return nil, &ListError{File: l.file, Line: l.line, Msg: "cannot be read on from here; is the file cut short or damaged?", Err: err}
	case long:
		return nil, l.fault("this line is longer than 4096 bytes; a list has one short line for each name")
	case errors.Is(err, io.EOF):
		l.open = true
	}
	if l.line == 1 {
		b = bytes.TrimPrefix(b, []byte("\ufeff"))
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return nil, l.fault("this line holds NUL bytes; give a text file in UTF-8 (not UTF-16, not a binary file)")
	}
	b = bytes.TrimSuffix(b, []byte("\n"))
	return bytes.TrimSuffix(b, []byte("\r")), nil
}

func (l *lineReader) fault(msg string) *ListError {
	return &ListError{File: l.file, Line: l.line, Msg: msg}
}
