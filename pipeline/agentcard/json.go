package agentcard

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of one document. The deepest card collected so far nests 9 levels and
// the largest has some 5,000 values; the limits keep a hostile body of 256 KB
// to a few megabytes.
const (
	maxDepth  = 64
	maxValues = 1 << 16
)

// smallObject is the number of members up to which duplicate keys are found by
// comparing all pairs, which is cheaper than a map.
const smallObject = 16

type jsonKind uint8

const (
	absent jsonKind = iota
	null
	boolean
	number
	text
	list
	object
)

// value is one JSON value. Strings and numbers are parts of the document where
// possible, so that a parsed card costs little beyond its body.
type value struct {
	kind jsonKind
	// snake: some key of the object has an underscore.
	snake   bool
	text    string   // text: its content; number: as written; boolean: true or false
	members []member // object: keys distinct, in order of first appearance; list: keys empty
}

type member struct {
	key string
	value
}

// syntaxError says why a document is not one strict JSON value.
type syntaxError struct {
	detail string
	offset int
}

func (e *syntaxError) Error() string { return "not one JSON value: " + e.detail }

// Details of an invalid_json verdict.
const (
	detailEncoding  = "bad_encoding"    // not the UTF-8, UTF-16 or UTF-32 it ought to be
	detailSurrogate = "lone_surrogate"  // an escape for half a character (RFC 7493 section 2.1)
	detailTrailing  = "trailing_data"   // more after the value
	detailDepth     = "too_deep"        // more than maxDepth levels
	detailValues    = "too_many_values" // more than maxValues values
	detailTruncated = "truncated"       // the text ends within the value
	detailSyntax    = "syntax"
)

// parser reads one document. Children are gathered on a stack shared by all
// levels and copied out once their number is known.
type parser struct {
	src        string
	pos        int
	depth      int
	values     int
	stack      []member
	duplicates bool
}

// parseJSON reads src, valid UTF-8, as exactly one JSON value (RFC 8259). Of
// duplicate keys the last counts, and duplicates is set.
func parseJSON(src string) (v value, duplicates bool, err *syntaxError) {
	p := parser{src: src}
	p.space()
	if v, err = p.value(); err != nil {
		return value{}, false, err
	}
	p.space()
	if p.pos < len(p.src) {
		return value{}, false, p.fail(detailTrailing)
	}
	return v, p.duplicates, nil
}

func (p *parser) fail(detail string) *syntaxError {
	return &syntaxError{detail: detail, offset: p.pos}
}

// unexpected is the error for a byte that cannot stand where it does, or for no byte.
func (p *parser) unexpected() *syntaxError {
	if p.pos >= len(p.src) {
		return p.fail(detailTruncated)
	}
	return p.fail(detailSyntax)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (p *parser) space() {
	for p.pos < len(p.src) && isSpace(p.src[p.pos]) {
		p.pos++
	}
}

// take consumes c if it comes next.
func (p *parser) take(c byte) bool {
	if p.pos < len(p.src) && p.src[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *parser) value() (value, *syntaxError) {
	if p.values++; p.values > maxValues {
		return value{}, p.fail(detailValues)
	}
	if p.pos >= len(p.src) {
		return value{}, p.fail(detailTruncated)
	}
	switch c := p.src[p.pos]; c {
	case '{', '[':
		if p.depth++; p.depth > maxDepth {
			return value{}, p.fail(detailDepth)
		}
		defer func() { p.depth-- }()
		p.pos++
		if c == '{' {
			return p.object()
		}
		return p.list()
	case '"':
		s, err := p.string()
		return value{kind: text, text: s}, err
	case 'n':
		return p.literal("null", null)
	case 't':
		return p.literal("true", boolean)
	case 'f':
		return p.literal("false", boolean)
	default:
		return p.number()
	}
}

func (p *parser) literal(word string, k jsonKind) (value, *syntaxError) {
	for i := range len(word) {
		if !p.take(word[i]) {
			return value{}, p.unexpected()
		}
	}
	return value{kind: k, text: word}, nil
}

// list reads what follows "[".
func (p *parser) list() (value, *syntaxError) {
	v := value{kind: list}
	base := len(p.stack)
	p.space()
	if p.take(']') {
		return v, nil
	}
	for {
		p.space()
		item, err := p.value()
		if err != nil {
			return value{}, err
		}
		p.stack = append(p.stack, member{value: item})
		p.space()
		if p.take(']') {
			v.members = p.pop(base)
			return v, nil
		}
		if !p.take(',') {
			return value{}, p.unexpected()
		}
	}
}

// object reads what follows "{".
func (p *parser) object() (value, *syntaxError) {
	v := value{kind: object}
	base := len(p.stack)
	p.space()
	if p.take('}') {
		return v, nil
	}
	for {
		p.space()
		if p.pos >= len(p.src) || p.src[p.pos] != '"' {
			return value{}, p.unexpected()
		}
		key, err := p.string()
		if err != nil {
			return value{}, err
		}
		p.space()
		if !p.take(':') {
			return value{}, p.unexpected()
		}
		p.space()
		item, err := p.value()
		if err != nil {
			return value{}, err
		}
		v.snake = v.snake || strings.IndexByte(key, '_') >= 0
		p.stack = append(p.stack, member{key: key, value: item})
		p.space()
		if p.take('}') {
			p.dropDuplicates(base)
			v.members = p.pop(base)
			return v, nil
		}
		if !p.take(',') {
			return value{}, p.unexpected()
		}
	}
}

// pop takes the stack's entries from base on.
func (p *parser) pop(base int) []member {
	out := make([]member, len(p.stack)-base)
	copy(out, p.stack[base:])
	p.stack = p.stack[:base]
	return out
}

// dropDuplicates leaves one member a key from base on, with the last value, as
// every common parser does.
func (p *parser) dropDuplicates(base int) {
	members := p.stack[base:]
	var index map[string]int
	if len(members) > smallObject {
		index = make(map[string]int, len(members))
	}
	kept := 0
	for _, m := range members {
		at := -1
		if index != nil {
			if i, ok := index[m.key]; ok {
				at = i
			} else {
				index[m.key] = kept
			}
		} else {
			for i := range members[:kept] {
				if members[i].key == m.key {
					at = i
				}
			}
		}
		if at >= 0 {
			p.duplicates = true
			members[at].value = m.value
			continue
		}
		members[kept] = m
		kept++
	}
	p.stack = p.stack[:base+kept]
}

// string reads a string, its opening quote included.
func (p *parser) string() (string, *syntaxError) {
	p.pos++
	start := p.pos
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == '"':
			s := p.src[start:p.pos]
			p.pos++
			return s, nil
		case c == '\\':
			return p.escapedString(start)
		case c < 0x20:
			return "", p.fail(detailSyntax)
		default:
			p.pos++
		}
	}
	return "", p.fail(detailTruncated)
}

// escapedString reads on, from the first backslash of a string that began at start.
func (p *parser) escapedString(start int) (string, *syntaxError) {
	var b strings.Builder
	b.WriteString(p.src[start:p.pos])
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == '"':
			p.pos++
			return b.String(), nil
		case c == '\\':
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
		case c < 0x20:
			return "", p.fail(detailSyntax)
		default:
			b.WriteByte(c)
			p.pos++
		}
	}
	return "", p.fail(detailTruncated)
}

// escape reads one escape, both halves of a surrogate pair included.
func (p *parser) escape() (rune, *syntaxError) {
	p.pos++
	if p.pos >= len(p.src) {
		return 0, p.fail(detailTruncated)
	}
	c := p.src[p.pos]
	if c == 'u' {
		return p.unicodeEscape()
	}
	const letters, meanings = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	i := strings.IndexByte(letters, c)
	if i < 0 {
		return 0, p.fail(detailSyntax)
	}
	p.pos++
	return rune(meanings[i]), nil
}

// unicodeEscape reads on from the u of an escape.
func (p *parser) unicodeEscape() (rune, *syntaxError) {
	first, err := p.hex4()
	if err != nil {
		return 0, err
	}
	if !utf16.IsSurrogate(first) {
		return first, nil
	}
	if !strings.HasPrefix(p.src[p.pos:], `\u`) {
		return 0, p.fail(detailSurrogate)
	}
	p.pos++
	second, err := p.hex4()
	if err != nil {
		return 0, err
	}
	r := utf16.DecodeRune(first, second)
	if r == utf8.RuneError {
		return 0, p.fail(detailSurrogate)
	}
	return r, nil
}

// hex4 reads a u and four hexadecimal digits.
func (p *parser) hex4() (rune, *syntaxError) {
	p.pos++
	var r rune
	for range 4 {
		if p.pos >= len(p.src) {
			return 0, p.fail(detailTruncated)
		}
		c := p.src[p.pos]
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, p.fail(detailSyntax)
		}
		p.pos++
	}
	return r, nil
}

// number reads a number and keeps it as written (RFC 8259 section 6).
func (p *parser) number() (value, *syntaxError) {
	start := p.pos
	p.take('-')
	if !p.take('0') && !p.digits() {
		return value{}, p.unexpected()
	}
	if p.take('.') && !p.digits() {
		return value{}, p.unexpected()
	}
	if p.take('e') || p.take('E') {
		if !p.take('+') {
			p.take('-')
		}
		if !p.digits() {
			return value{}, p.unexpected()
		}
	}
	return value{kind: number, text: p.src[start:p.pos]}, nil
}

// digits consumes digits and says whether there was one.
func (p *parser) digits() bool {
	start := p.pos
	for p.pos < len(p.src) && '0' <= p.src[p.pos] && p.src[p.pos] <= '9' {
		p.pos++
	}
	return p.pos > start
}
