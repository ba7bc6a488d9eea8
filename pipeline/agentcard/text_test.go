package agentcard

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                               "plain",
		"Grüße 你好 שלום 😀":                     "Grüße 你好 שלום 😀",
		"family 👨\u200d👩\u200d👧":              "family 👨\u200d👩\u200d👧", // a joiner is part of writing
		"two\nlines\r\nand\ta tab":            "two lines  and a tab",
		"\x1b[31mred\x1b[0m":                  "[31mred[0m",
		"\x1b]0;title\x07":                    "]0;title",
		"bell\a\b\x7f\u009b31m":               "bell31m",
		"\u202eevil\u202c \u2066x\u2069":      "evil x",
		"\u200e\u200f\u061c":                  "",
		"line\u2028sep\u2029par\u0085next":    "line sep par next",
		"tag\U000e0041\U000e007f":             "tag",
		"\ufeffmark":                          "mark",
		"bad\xff":                             "bad\ufffd",
		"nul\x00":                             "nul",
		strings.Repeat("long ", 1000) + "end": strings.Repeat("long ", 1000) + "end",
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestPrintableIsSafe: nothing a terminal acts on is left, whatever comes in.
func TestPrintableIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		out := Printable(in)
		if !utf8.ValidString(out) {
			t.Fatalf("%q is no UTF-8", out)
		}
		for _, r := range out {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Fatalf("%q has %U", out, r)
			}
		}
		if again := Printable(out); again != out {
			t.Fatalf("%q becomes %q", out, again)
		}
	})
}
