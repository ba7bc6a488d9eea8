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

// lines are the lines of a text without comments and the blanks around them, and whether nothing is left of any. Line 1
// has index 0.
func lines(plain []byte) (lines []string, blank bool) {
	lines, blank = splitLines(string(plain)), true
	for i, line := range lines {
		lines[i] = cleanLine(line)
		blank = blank && lines[i] == ""
	}
	return lines, blank
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

// splitLines splits at CR LF, LF and CR (RFC 9309 section 2.2), and at nothing else. One pass: to look for LF first and
// then for CR would be quadratic in a body that has only one of the two.
func splitLines(s string) []string {
	lines := make([]string, 0, strings.Count(s, "\n")+1)
	start := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\n':
			lines = append(lines, s[start:i])
		case '\r':
			lines = append(lines, s[start:i])
			if i+1 < len(s) && s[i+1] == '\n' {
				i++
			}
		default:
			continue
		}
		start = i + 1
	}
	return append(lines, s[start:])
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
