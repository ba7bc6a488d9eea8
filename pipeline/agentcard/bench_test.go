package agentcard

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// bigCard is a 0.3 card of about 20 KB.
func bigCard(t testing.TB) []byte {
	var skills strings.Builder
	for i := 0; skills.Len() < 18<<10; i++ {
		fmt.Fprintf(&skills, `{"id": "plan-%d", "name": "Plan orchard %[1]d", "description": "Days and rows of orchard %[1]d, with the \"late\" ones.", `+
			`"tags": ["harvest", "plan"], "examples": ["When are the Boskoop of orchard %[1]d ripe?"]}, `, i)
	}
	body := string(testCard(t, "r3_v03_full.json"))
	return []byte(strings.Replace(body, `"skills": [`, `"skills": [`+skills.String(), 1))
}

// BenchmarkRead and BenchmarkValid are to be compared: reading a card of 20 KB
// should cost less than 20 times the standard library's json.Valid.
func BenchmarkRead(b *testing.B) {
	body := bigCard(b)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if v, _ := Read(body); v.Kind != Is {
			b.Fatalf("%+v", v)
		}
	}
}

func BenchmarkValid(b *testing.B) {
	body := bigCard(b)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if !json.Valid(body) {
			b.Fatal("not JSON")
		}
	}
}
