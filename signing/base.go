package signing

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"github.com/dunglas/httpsfv"
)

// message is what a signature can cover: a request, or a response with the
// request it answers.
type message struct {
	method, scheme, authority, path string // of a request
	status                          int    // of a response, else 0
	header                          http.Header
	request                         *message // what a response answers, or nil
}

func (r Request) message() *message {
	scheme := r.Scheme
	if scheme == "" {
		scheme = "https"
	}
	return &message{method: r.Method, scheme: scheme, authority: r.Authority, path: r.Path, header: r.Header}
}

// errDuplicate is a component covered twice (RFC 9421 2.5 forbids it).
var errDuplicate = errors.New("covered twice")

// signatureBase rebuilds the base of RFC 9421 2.5 for the covered components.
// It is independent of the signer's own way of writing one.
func (m *message) signatureBase(covered httpsfv.InnerList) (string, error) {
	var b strings.Builder
	seen := make(map[string]bool, len(covered.Items))
	for _, item := range covered.Items {
		id, err := httpsfv.Marshal(item)
		if err != nil {
			return "", fmt.Errorf("component: %w", err)
		}
		same := identity(item)
		if seen[same] {
			return "", fmt.Errorf("%s: %w", id, errDuplicate)
		}
		seen[same] = true
		value, err := m.component(item)
		if err != nil {
			return "", fmt.Errorf("component %s: %w", id, err)
		}
		for i := 0; i < len(value); i++ {
			if c := value[i]; c != '\t' && (c < ' ' || c >= 0x7f) {
				return "", fmt.Errorf("component %s: byte %#02x in its value", id, c)
			}
		}
		b.WriteString(id)
		b.WriteString(": ")
		b.WriteString(value)
		b.WriteByte('\n')
	}
	params, err := httpsfv.Marshal(covered)
	if err != nil {
		return "", fmt.Errorf("signature parameters: %w", err)
	}
	b.WriteString(`"@signature-params": `)
	b.WriteString(params)
	return b.String(), nil
}

// identity is the same for identifiers that differ only in the order of their
// parameters, which are the same component (RFC 9421 2).
func identity(item httpsfv.Item) string {
	name, _ := item.Value.(string)
	var b strings.Builder
	b.WriteString(strconv.Quote(name))
	for _, flag := range []string{"req", "tr", "bs", "sf", "key", "name"} {
		if v, ok := item.Params.Get(flag); ok {
			fmt.Fprintf(&b, ";%s=%q", flag, fmt.Sprint(v))
		}
	}
	return b.String()
}

// component returns one component's value (RFC 9421 2.1, 2.2, 2.4).
func (m *message) component(item httpsfv.Item) (string, error) {
	name, ok := item.Value.(string)
	if !ok || name == "" || name != strings.ToLower(name) {
		return "", errors.New("its name is not a lower-case string")
	}
	for _, p := range item.Params.Names() {
		switch p {
		case "req", "bs", "sf", "key", "name":
		default: // "tr" too: trailers are not read here
			return "", fmt.Errorf("parameter %q is not supported", p)
		}
	}
	of := m
	if flag(item, "req") {
		if m.request == nil {
			return "", errors.New("there is no request it could be of")
		}
		of = m.request
	}
	if strings.HasPrefix(name, "@") {
		return of.derived(name, item)
	}
	return of.field(name, item)
}

func flag(item httpsfv.Item, name string) bool {
	v, ok := item.Params.Get(name)
	return ok && v == true
}

// derived returns a derived component (RFC 9421 2.2).
func (m *message) derived(name string, item httpsfv.Item) (string, error) {
	for _, p := range item.Params.Names() {
		if p != "req" && (p != "name" || name != "@query-param") {
			return "", fmt.Errorf("parameter %q does not belong to it", p)
		}
	}
	if name == "@status" {
		if m.status == 0 {
			return "", errors.New("a request has no status")
		}
		return strconv.Itoa(m.status), nil
	}
	if m.status != 0 {
		return "", errors.New("a response has none")
	}
	_, query, _ := strings.Cut(m.path, "?")
	authority := normalAuthority(m.scheme, m.authority)
	switch name {
	case "@method":
		return m.method, nil
	case "@authority":
		return authority, nil
	case "@scheme":
		return m.scheme, nil
	case "@path":
		return pathOnly(m.path), nil
	case "@query": // "?" alone when there is none (2.2.7)
		return "?" + query, nil
	case "@request-target":
		return m.target(), nil
	case "@target-uri":
		return m.scheme + "://" + authority + m.target(), nil
	case "@query-param":
		return queryParam(query, item)
	}
	return "", errors.New("unknown derived component")
}

// target is the request target in origin form.
func (m *message) target() string {
	if m.path == "" || m.path[0] == '?' {
		return "/" + m.path
	}
	return m.path
}

// queryParam returns a query parameter that occurs once (RFC 9421 2.2.8).
func queryParam(query string, item httpsfv.Item) (string, error) {
	want, ok := item.Params.Get("name")
	if !ok {
		return "", errors.New(`it has no "name"`)
	}
	found, value := 0, ""
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, v, _ := strings.Cut(pair, "=")
		if formEncode(formDecode(name)) == want {
			found++
			value = formEncode(formDecode(v))
		}
	}
	if found != 1 {
		return "", fmt.Errorf("it occurs %d times", found)
	}
	return value, nil
}

// formDecode undoes application/x-www-form-urlencoded; a "%" that begins no
// escape stands for itself (WHATWG URL 5.1).
func formDecode(s string) string {
	s = strings.ReplaceAll(s, "+", " ")
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := url.PathUnescape(s[i : i+3]); err == nil {
				b.WriteString(c)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// formEncode percent-encodes all but the bytes that application/
// x-www-form-urlencoded leaves alone; a space is %20 (RFC 9421 2.2.8).
func formEncode(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '*', c == '-', c == '.', c == '_':
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

// structuredDictionaries are the fields known to be dictionaries, the only ones
// that "sf" is understood for.
var structuredDictionaries = map[string]bool{
	"accept-signature": true, "content-digest": true, "priority": true, "repr-digest": true,
	"signature": true, "signature-agent": true, "signature-input": true,
	"want-content-digest": true, "want-repr-digest": true,
}

// field returns a header field's value (RFC 9421 2.1).
func (m *message) field(name string, item httpsfv.Item) (string, error) {
	lines := m.header[textproto.CanonicalMIMEHeaderKey(name)]
	if len(lines) == 0 && name == "host" && m.authority != "" {
		lines = []string{m.authority} // servers keep Host apart
	}
	if len(lines) == 0 {
		return "", errors.New("there is no such field")
	}
	if _, ok := item.Params.Get("name"); ok {
		return "", errors.New(`parameter "name" does not belong to it`)
	}
	key, keyed := item.Params.Get("key")
	switch bytes, strict := flag(item, "bs"), flag(item, "sf"); {
	case bytes && (keyed || strict):
		return "", errors.New(`"bs" excludes "key" and "sf"`)
	case bytes:
		return byteSequences(lines), nil
	case keyed:
		return member(lines, key)
	case strict:
		if !structuredDictionaries[name] {
			return "", errors.New(`"sf" is not supported for it`)
		}
		d, err := httpsfv.UnmarshalDictionary(lines)
		if err != nil {
			return "", err
		}
		return httpsfv.Marshal(d)
	}
	clean := make([]string, len(lines))
	for i, line := range lines {
		clean[i] = fieldLine(line)
	}
	return strings.Join(clean, ", "), nil
}

// fieldLine trims a field line and replaces obsolete folding by one space.
func fieldLine(line string) string {
	line = strings.Trim(line, " \t\r\n")
	if !strings.Contains(line, "\n") {
		return line
	}
	folded := strings.Split(strings.ReplaceAll(line, "\r\n", "\n"), "\n")
	for i, part := range folded {
		if i > 0 && (part == "" || (part[0] != ' ' && part[0] != '\t')) {
			return line // no folding: the line break is refused by the caller
		}
		folded[i] = strings.Trim(part, " \t")
	}
	return strings.Join(folded, " ")
}

func byteSequences(lines []string) string {
	encoded := make([]string, len(lines))
	for i, line := range lines {
		encoded[i] = ":" + base64.StdEncoding.EncodeToString([]byte(fieldLine(line))) + ":"
	}
	return strings.Join(encoded, ", ")
}

// member returns one member of a dictionary field, serialised (2.1.2).
func member(lines []string, key any) (string, error) {
	name, ok := key.(string)
	if !ok {
		return "", errors.New(`"key" is not a string`)
	}
	d, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		return "", err
	}
	m, ok := d.Get(name)
	if !ok {
		return "", fmt.Errorf("there is no member %q", name)
	}
	switch m := m.(type) {
	case httpsfv.Item:
		return httpsfv.Marshal(m)
	case httpsfv.InnerList:
		return httpsfv.Marshal(m)
	}
	return "", fmt.Errorf("member %q is neither item nor list", name)
}
