package agentcard

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestStrictJSON(t *testing.T) {
	for _, test := range []struct{ name, body, detail string }{
		{"trailing comma", `{"a":1,}`, detailSyntax},
		{"comment", `{/* a */"a":1}`, detailSyntax},
		{"NaN", `{"a":NaN}`, detailSyntax},
		{"single quotes", `{'a':1}`, detailSyntax},
		{"leading zero", `[01]`, detailSyntax},
		{"bare fraction", `[1.]`, detailSyntax},
		{"plus sign", `[+1]`, detailSyntax},
		{"hexadecimal", `[0x1]`, detailSyntax},
		{"line break in a string", "[\"a\nb\"]", detailSyntax},
		{"unknown escape", `["\x41"]`, detailSyntax},
		{"bad unicode escape", `["\u12g4"]`, detailSyntax},
		{"missing colon", `{"a" 1}`, detailSyntax},
		{"no key", `{1:1}`, detailSyntax},
		{"upper-case literal", `[True]`, detailSyntax},
		{"second value", `{"a":1}{"b":2}`, detailTrailing},
		{"injected markup", `{"a":1}<script></script>`, detailTrailing},
		{"NUL after the end", "{}\x00", detailTrailing},
		{"ends in an object", `{"a":1`, detailTruncated},
		{"ends in a key", `{"a`, detailTruncated},
		{"ends in a literal", `[tru`, detailTruncated},
		{"ends in an escape", `["\u00`, detailTruncated},
		{"ends in a number", `[-`, detailTruncated},
		{"high surrogate alone", `["\ud83d"]`, detailSurrogate},
		{"low surrogate alone", `["\ude00"]`, detailSurrogate},
		{"high surrogate twice", `["\ud83d\ud83d"]`, detailSurrogate},
		{"invalid UTF-8", "[\"\xc3\x28\"]", detailEncoding},
		{"UTF-8 of a surrogate", "[\"\xed\xa0\x80\"]", detailEncoding},
		{"UTF-16 of odd length", "\xff\xfe{\x00}\x00\x00", detailEncoding},
		{"UTF-16 with half a pair", "\xff\xfe[\x00\"\x00\x3d\xd8\"\x00]\x00", detailEncoding},
		{"UTF-32 out of range", "\x00\x00\xfe\xff\x00\x00\x00[\x7f\x00\x00\x00", detailEncoding},
		{"too deep", strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1), detailDepth},
		{"too many values", "[" + strings.Repeat("0,", maxValues) + "0]", detailValues},
	} {
		v, _ := Read([]byte(test.body))
		if v.Kind != Not || v.Reason != ReasonInvalidJSON || v.Detail != test.detail {
			t.Errorf("%s: %+v, want invalid_json, %s", test.name, v, test.detail)
		}
		if v.Offset < 0 || v.Offset > len(test.body) {
			t.Errorf("%s: offset %d of %d bytes", test.name, v.Offset, len(test.body))
		}
	}
	for _, body := range []string{
		strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth),
		`[0,-0,1.50,1e5,-2.5E-3,10000000000000000000000000000001]`,
		`["\ud83d\ude00","\"\\\/\b\f\n\r\t","é"]`,
		"\t[ ] \n",
	} {
		if v, _ := Read([]byte(body)); v.Reason != ReasonList {
			t.Errorf("%.40q: %+v, want a list", body, v)
		}
	}
}

func TestDuplicateKeysLastWins(t *testing.T) {
	many := `{"name":"first",` + strings.Repeat(`"k":1,"l":2,`, smallObject) + `"url":"u","skills":[],"defaultInputModes":[],"name":"last"}`
	for _, body := range []string{
		`{"name":"first","url":"u","skills":[],"defaultInputModes":[],"name":"last"}`,
		many,
	} {
		v, c := Read([]byte(body))
		if v.Kind != Is || c.Name != "last" {
			t.Errorf("%+v, name %q", v, c.Name)
		}
		if !slices.Contains(c.Warnings, warnDuplicates) {
			t.Errorf("warnings %q", c.Warnings)
		}
	}
}

// TestSameFactsInEveryEncoding: a card is the same card whatever its encoding.
func TestSameFactsInEveryEncoding(t *testing.T) {
	body := `{"name":"Glühwürmchen 😀","url":"u","skills":[],"defaultInputModes":[]}`
	var le16, be16, le32, be32 bytes.Buffer
	for _, r := range body {
		units := []rune{r}
		if r > 0xffff {
			units = []rune{0xd800 + (r-0x10000)>>10, 0xdc00 + (r-0x10000)&0x3ff}
		}
		for _, u := range units {
			le16.Write([]byte{byte(u), byte(u >> 8)})
			be16.Write([]byte{byte(u >> 8), byte(u)})
		}
		le32.Write([]byte{byte(r), byte(r >> 8), byte(r >> 16), 0})
		be32.Write([]byte{0, byte(r >> 16), byte(r >> 8), byte(r)})
	}
	_, want := Read([]byte(body))
	for _, test := range []struct{ name, body, warning string }{
		{"UTF-8 with a mark", "\xef\xbb\xbf" + body, "byte_order_mark"},
		{"UTF-16LE", "\xff\xfe" + le16.String(), "utf16"},
		{"UTF-16BE", "\xfe\xff" + be16.String(), "utf16"},
		{"UTF-32LE", "\xff\xfe\x00\x00" + le32.String(), "utf32"},
		{"UTF-32BE", "\x00\x00\xfe\xff" + be32.String(), "utf32"},
	} {
		v, got := Read([]byte(test.body))
		if v.Kind != Is || !slices.Contains(got.Warnings, test.warning) {
			t.Errorf("%s: %+v, warnings %q", test.name, v, got.Warnings)
		}
		got.Warnings = want.Warnings
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -UTF-8 +this\n%s", test.name, diff)
		}
	}
	if want.BodyUTF8 != body || want.Name != "Glühwürmchen 😀" {
		t.Errorf("text %q", want.BodyUTF8)
	}
}

// generic is a value as encoding/json would hand it out.
func generic(v *value) any {
	switch v.kind {
	case boolean:
		return v.text == "true"
	case number:
		return json.Number(v.text)
	case text:
		return v.text
	case list:
		out := []any{}
		for i := range v.members {
			out = append(out, generic(&v.members[i].value))
		}
		return out
	case object:
		out := map[string]any{}
		for i := range v.members {
			out[v.members[i].key] = generic(&v.members[i].value)
		}
		return out
	}
	return nil
}

// agreeWithEncodingJSON checks the reader against the standard library, which
// is as strict but for depth, number of values, encoding and surrogates.
func agreeWithEncodingJSON(t *testing.T, txt string) {
	t.Helper()
	if !utf8.ValidString(txt) {
		return
	}
	v, _, err := parseJSON(txt)
	if err != nil {
		switch err.detail {
		case detailSyntax, detailTrailing, detailTruncated:
			if json.Valid([]byte(txt)) {
				t.Fatalf("%q is JSON, yet %v", txt, err)
			}
		}
		return
	}
	d := json.NewDecoder(strings.NewReader(txt))
	d.UseNumber()
	var want any
	if err := d.Decode(&want); err != nil {
		t.Fatalf("%q was read, yet %v", txt, err)
	}
	if diff := cmp.Diff(want, generic(&v)); diff != "" {
		t.Fatalf("%q: -encoding/json +this\n%s", txt, diff)
	}
}

func TestAgreesWithEncodingJSON(t *testing.T) {
	for _, dir := range []string{"cards", "near", "not"} {
		for _, body := range testFiles(t, dir) {
			agreeWithEncodingJSON(t, string(body))
		}
	}
	agreeWithEncodingJSON(t, `{"a":{"b":1},"a":{"c":[null,true,1.0,"\u00e9"]},"":{}}`)
}
