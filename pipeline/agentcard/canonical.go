package agentcard

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
)

// canonicalHash is the SHA-256 of an object written without space, without its
// member signatures, keys in order of their UTF-8 bytes, strings with the fewest
// escapes and numbers as the author wrote them. That is RFC 8785 but for the
// numbers and the order of rare keys; it tells copies apart from originals and
// is not the input of a signature. size is about the length of the object's text.
func canonicalHash(o *value, size int) string {
	trimmed := *o
	trimmed.members = slices.DeleteFunc(slices.Clone(o.members), func(m member) bool { return m.key == "signatures" })
	sum := sha256.Sum256(appendCanonical(make([]byte, 0, size), &trimmed))
	return hex.EncodeToString(sum[:])
}

func appendCanonical(b []byte, v *value) []byte {
	switch v.kind {
	case text:
		return appendString(b, v.text)
	case object:
		b = append(b, '{')
		for i, m := range v.entries() {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, m.key), ':')
			b = appendCanonical(b, &m.value)
		}
		return append(b, '}')
	case list:
		b = append(b, '[')
		for i := range v.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCanonical(b, &v.members[i].value)
		}
		return append(b, ']')
	}
	return append(b, v.text...)
}

// appendString writes a string as RFC 8785 section 3.2.2.2 has it.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\b':
			b = append(b, `\b`...)
		case c == '\f':
			b = append(b, `\f`...)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < 0x20:
			b = append(b, `\u00`...)
			b = strconv.AppendUint(append(b, '0'+c>>4), uint64(c&0xf), 16)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
