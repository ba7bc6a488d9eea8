package robots

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
)

// plainText undoes what lies between a site and its text: gzip that no header declared, UTF-16 and UTF-32 (RFC 9309
// section 2.2.2 lets a crawler bridge encodings). It gives at most MaxBody bytes of what was sent, and whether that is only
// the beginning. The fault is a reason code, "" for none.
func plainText(body []byte, cut bool) (plain []byte, partial bool, fault string) {
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		decoded, err := gunzip(body)
		// The stream of a body that was cut ends too early by our own doing.
		if err != nil && !(cut && errors.Is(err, io.ErrUnexpectedEOF)) {
			return nil, false, "bad_gzip"
		}
		body = decoded
	}
	if len(body) > MaxBody {
		body, cut = body[:MaxBody], true
	}
	return toUTF8(body), cut, ""
}

// text is a text by its lines. A body may have half a million of them, so that they are kept small and those of which
// nothing is left are not kept.
type text struct {
	whole string
	lines []line
}

// line is where a line lies in its text, without comment and the blanks around it.
type line struct {
	start, end uint32
	number     uint32 // from 1
}

func (t *text) line(i int) string { return t.whole[t.lines[i].start:t.lines[i].end] }

// late says that the first line that is kept is not the first.
func (t *text) late() bool { return len(t.lines) > 0 && t.lines[0].number > 1 }

// textOf reads the lines of a text. Of a partial one the last line is left out: a rule cut short says something else.
// blank says that nothing is left of any line.
func textOf(plain []byte, partial bool) (t text, blank bool) {
	t, blank = text{whole: string(plain), lines: make([]line, 0, min(64, bytes.Count(plain, []byte("\n"))+1))}, true
	number := uint32(0)
	eachLine(t.whole, func(start, end int, last bool) {
		number++
		clean := cleanLine(t.whole[start:end])
		if clean == "" {
			return
		}
		blank = false
		if last && partial {
			return
		}
		start += strings.Index(t.whole[start:end], clean)
		t.lines = append(t.lines, line{uint32(start), uint32(start + len(clean)), number})
	})
	return t, blank
}

// gunzip decodes at most one byte more than MaxBody, and returns what it has beside an error.
func gunzip(body []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, MaxBody+1))
}

// toUTF8 transcodes UTF-16 and UTF-32. Without a byte order mark only UTF-16 of ASCII is recognised, by its zeros.
func toUTF8(body []byte) []byte {
	zero := func(i int) bool { return body[i] == 0 }
	switch {
	case bytes.HasPrefix(body, []byte{0xFF, 0xFE, 0, 0}):
		return fromUTF32(body[4:], binary.LittleEndian)
	case bytes.HasPrefix(body, []byte{0, 0, 0xFE, 0xFF}):
		return fromUTF32(body[4:], binary.BigEndian)
	case bytes.HasPrefix(body, []byte{0xFF, 0xFE}):
		return fromUTF16(body[2:], binary.LittleEndian)
	case bytes.HasPrefix(body, []byte{0xFE, 0xFF}):
		return fromUTF16(body[2:], binary.BigEndian)
	case len(body) >= 4 && !zero(0) && zero(1) && !zero(2) && zero(3):
		return fromUTF16(body, binary.LittleEndian)
	case len(body) >= 4 && zero(0) && !zero(1) && zero(2) && !zero(3):
		return fromUTF16(body, binary.BigEndian)
	}
	return body
}

func fromUTF16(b []byte, order binary.ByteOrder) []byte {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

func fromUTF32(b []byte, order binary.ByteOrder) []byte {
	plain := make([]byte, 0, len(b)/4)
	for ; len(b) >= 4; b = b[4:] {
		r := utf8.RuneError
		if v := order.Uint32(b); v <= unicode.MaxRune {
			r = rune(v)
		}
		plain = utf8.AppendRune(plain, r)
	}
	return plain
}

// eachLine finds the lines that end at CR LF, LF and CR (RFC 9309 section 2.2), and at nothing else. One pass: to look
// for LF first and then for CR would be quadratic in a body that has only one of the two.
func eachLine(s string, found func(start, end int, last bool)) {
	start := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\n':
			found(start, i, false)
		case '\r':
			found(start, i, false)
			if i+1 < len(s) && s[i+1] == '\n' {
				i++
			}
		default:
			continue
		}
		start = i + 1
	}
	found(start, len(s), true)
}

// cleanLine removes the comment and the blanks around a line. The line ends at a NUL inside it, as it does for parsers
// written in C, Google's among them.
func cleanLine(line string) string {
	line, _, _ = strings.Cut(line, "#")
	line = strings.TrimFunc(line, isBlank)
	if line, _, found := strings.Cut(line, "\x00"); found {
		return strings.TrimFunc(line, isBlank)
	}
	return line
}

// isBlank counts as blanks what editors and word processors leave in files and nobody sees: no-break and zero-width
// spaces, byte order marks (two of them at times), NUL padding.
func isBlank(r rune) bool {
	switch r {
	case 0, '\u200B', '\u2060', '\uFEFF':
		return true
	}
	return unicode.IsSpace(r)
}
