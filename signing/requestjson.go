package signing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strings"
)

// RequestJSON is a request as the commands sign and verify read and print it.
type RequestJSON struct {
	Method  string                `json:"method"`
	URL     string                `json:"url"`
	Headers map[string]FieldLines `json:"headers"`
}

// FieldLines are the lines of one header field: in JSON a string, or a list of
// strings when there are several.
type FieldLines []string

// MarshalJSON writes a single line as a string.
func (f FieldLines) MarshalJSON() ([]byte, error) {
	if len(f) == 1 {
		return json.Marshal(f[0])
	}
	return json.Marshal([]string(f))
}

// UnmarshalJSON reads a string or a list of strings.
func (f *FieldLines) UnmarshalJSON(data []byte) error {
	var one string
	if err := json.Unmarshal(data, &one); err == nil && string(data) != "null" {
		*f = FieldLines{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(data, &many); err != nil || many == nil {
		return errors.New("a header is a string or a list of strings")
	}
	*f = many
	return nil
}

// ParseRequestJSON reads one request. Header names are taken in any case; two
// that differ in case only are refused, because their order would be lost.
func ParseRequestJSON(data []byte) (Request, error) {
	var j RequestJSON
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&j); err != nil {
		return Request{}, fmt.Errorf("reading a request: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Request{}, errors.New("reading a request: there is more after it")
	}
	if j.Method == "" || j.URL == "" {
		return Request{}, errors.New(`reading a request: want "method", "url" and "headers"`)
	}
	h := make(http.Header, len(j.Headers))
	for name, lines := range j.Headers {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if _, ok := h[canonical]; ok {
			return Request{}, fmt.Errorf("reading a request: header %s is there twice", canonical)
		}
		h[canonical] = lines
	}
	return RequestFromURL(j.Method, j.URL, h)
}

// JSON returns the request in its JSON form, indented, ending in a newline.
func (r Request) JSON() ([]byte, error) {
	m := r.message()
	j := RequestJSON{Method: r.Method, URL: m.scheme + "://" + r.Authority + m.target(), Headers: make(map[string]FieldLines, len(r.Header))}
	for name, lines := range r.Header {
		j.Headers[name] = lines
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // a query keeps its "&"
	enc.SetIndent("", "  ")
	if err := enc.Encode(j); err != nil {
		return nil, fmt.Errorf("writing a request: %w", err)
	}
	return []byte(b.String()), nil
}
