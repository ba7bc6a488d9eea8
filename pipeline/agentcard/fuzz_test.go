package agentcard

import (
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzRead checks on any body what Read promises of every body.
func FuzzRead(f *testing.F) {
	for _, dir := range []string{"cards", "near", "not"} {
		for _, body := range testFiles(f, dir) {
			f.Add(body)
		}
	}
	f.Add([]byte("\xff\xfe{\x00}\x00"))
	f.Add([]byte(`{"name":"a","name":"\ud83d\ude00","signatures":[{"protected":"e30","signature":"AA"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		v, c := Read(body)
		switch v.Kind {
		case Is, Near:
			if c.Name == "" || c.A2AVersion == "" || c.VersionSource == "" || c.Shape == "" || len(c.CanonicalSHA256) != 64 {
				t.Fatalf("%+v without facts: %+v", v, c)
			}
			if !utf8.ValidString(c.BodyUTF8) || !utf8.ValidString(c.Name) || !utf8.ValidString(c.Description) {
				t.Fatal("text that is no UTF-8")
			}
			if c.Signed && c.SignaturesCount == 0 || len(c.Skills) > c.SkillsCount || len(c.Interfaces) < len(c.InterfaceHosts) {
				t.Fatalf("facts contradict each other: %+v", c)
			}
			again, same := Read([]byte(c.BodyUTF8))
			c.Warnings, same.Warnings = nil, nil // the encoding is told there
			if again != v {
				t.Fatalf("%+v, its own text is %+v", v, again)
			}
			if diff := cmp.Diff(c, same); diff != "" {
				t.Fatalf("its own text has other facts: %s", diff)
			}
			c.Relate("a.example")
		case Not:
			if diff := cmp.Diff(Card{}, c); diff != "" {
				t.Fatalf("facts of %+v: %s", v, diff)
			}
		default:
			t.Fatalf("verdict %+v", v)
		}
		if v.Reason == "" || (v.Detail != "") != (v.Reason == ReasonInvalidJSON) {
			t.Fatalf("verdict %+v", v)
		}
		agreeWithEncodingJSON(t, string(body))
	})
}
