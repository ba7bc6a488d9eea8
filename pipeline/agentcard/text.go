package agentcard

import (
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// decodeText turns a body into UTF-8 text without a byte order mark. JSON on the
// web is UTF-8 (RFC 8259 section 8.1); UTF-16 and UTF-32 are taken when a byte
// order mark announces them. valid is false when the bytes are not what they
// claim to be; the text then has U+FFFD in the place of the faults. warning is
// the code for an encoding other than plain UTF-8.
func decodeText(body []byte) (txt, warning string, valid bool) {
	has := func(mark string) bool { return len(body) >= len(mark) && string(body[:len(mark)]) == mark }
	switch {
	case has("\xef\xbb\xbf"):
		txt, valid = decodeUTF8(body[3:])
		return txt, warnBOM, valid
	case has("\xff\xfe\x00\x00"): // before UTF-16LE, whose mark begins alike
		txt, valid = decodeUTF32(body[4:], binary.LittleEndian)
		return txt, warnUTF32, valid
	case has("\x00\x00\xfe\xff"):
		txt, valid = decodeUTF32(body[4:], binary.BigEndian)
		return txt, warnUTF32, valid
	case has("\xff\xfe"):
		txt, valid = decodeUTF16(body[2:], binary.LittleEndian)
		return txt, warnUTF16, valid
	case has("\xfe\xff"):
		txt, valid = decodeUTF16(body[2:], binary.BigEndian)
		return txt, warnUTF16, valid
	}
	txt, valid = decodeUTF8(body)
	return txt, "", valid
}

func decodeUTF8(b []byte) (string, bool) {
	if utf8.Valid(b) {
		return string(b), true
	}
	return strings.ToValidUTF8(string(b), "\ufffd"), false
}

func decodeUTF16(b []byte, order binary.ByteOrder) (string, bool) {
	var out strings.Builder
	out.Grow(len(b))
	valid := len(b)%2 == 0
	for len(b) >= 2 {
		r := rune(order.Uint16(b))
		b = b[2:]
		if utf16.IsSurrogate(r) {
			pair := rune(utf8.RuneError)
			if len(b) >= 2 {
				pair = utf16.DecodeRune(r, rune(order.Uint16(b)))
			}
			if r = pair; r == utf8.RuneError {
				valid = false
			} else {
				b = b[2:]
			}
		}
		out.WriteRune(r)
	}
	return out.String(), valid
}

func decodeUTF32(b []byte, order binary.ByteOrder) (string, bool) {
	var out strings.Builder
	out.Grow(len(b) / 2)
	valid := len(b)%4 == 0
	for ; len(b) >= 4; b = b[4:] {
		u := order.Uint32(b)
		if u > unicode.MaxRune || !utf8.ValidRune(rune(u)) {
			u, valid = utf8.RuneError, false
		}
		out.WriteRune(rune(u))
	}
	return out.String(), valid
}

// Printable makes a text of unknown origin safe for one line of a terminal:
// line breaks and tabs become spaces, other control characters, characters that
// reorder text (Unicode Bidi_Control) and invisible tag characters are left out,
// and invalid UTF-8 becomes U+FFFD.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\v' || r == '\f' ||
			r == '\u0085' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		case r == '\ufeff', 0xE0000 <= r && r <= 0xE0FFF:
			return -1
		}
		return r
	}, s)
}
