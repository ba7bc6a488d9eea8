package agentcard

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// maxBody is the most the crawler hands over.
const maxBody = 256 << 10

// hostileBodies are made to cost as much as 256 KB can.
func hostileBodies() map[string]string {
	fill := func(head, unit, tail string) string {
		return head + strings.Repeat(unit, (maxBody-len(head)-len(tail))/len(unit)) + tail
	}
	counted := func(head, tail, format string) string {
		var b strings.Builder
		b.WriteString(head)
		for i := 0; b.Len() < maxBody-200; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, format, i)
		}
		return b.String() + tail
	}
	const card = `{"name":"a","url":"u","defaultInputModes":[],`
	return map[string]string{
		"brackets":             strings.Repeat("[", maxBody),
		"braces":               fill("", `{"":`, ""),
		"flat list":            fill("[0", ",0", "]"),
		"empty lists":          fill("[[]", ",[]", "]"),
		"empty lists, allowed": "[[]" + strings.Repeat(",[]", maxValues-2) + "]",
		"many keys":            counted("{", "}", `"%d":0`),
		"one key":              fill(`{"a":0`, `,"a":0`, "}"),
		"snake keys":           counted(card+`"skills":[],`, "}", `"a_%d":0`),
		"escapes":              fill(`{"name":"`, `\u0041`, `"}`),
		"backslashes":          fill(`["`, `\\`, `"]`),
		"digits":               fill("[1", "1", "]"),
		"spaces":               fill("", " ", ""),
		"markup":               fill("<", "<", ""),
		"interfaces":           counted(`{"name":"a","supportedInterfaces":[`, "]}", `{"url":"https://h%d.example/","protocolVersion":"1.%[1]d"}`),
		"skills":               counted(card+`"skills":[`, "]}", `{"id":"%d"}`),
		"schemes":              counted(card+`"skills":[],"securitySchemes":{`, "}}", `"%d":{"type":"http"}`),
		"requirements":         counted(card+`"skills":[],"security":[`, "]}", `{"%d":[]}`),
		"signatures":           counted(card+`"skills":[],"signatures":[`, "]}", `{"protected":"eyJhbGciOiJub25lIn0","signature":"%d"}`),
		"protected header":     card + `"skills":[],"signatures":[{"signature":"AA","protected":"` + encode(fill(`{"alg":[0`, `,0`, `]}`)[:maxBody/2]) + `"}]}`,
		"nested objects":       card + `"skills":[],"x":` + strings.Repeat(`{"a":`, maxDepth-1) + "0" + strings.Repeat("}", maxDepth),
		"UTF-16":               "\xff\xfe" + fill("[\x00", "[\x00", ""),
	}
}

// TestHostileBodiesCostLittle bounds what one body can make Read allocate in
// all: about a hundred times its own size.
func TestHostileBodiesCostLittle(t *testing.T) {
	const most = 100 * maxBody
	for name, body := range hostileBodies() {
		raw := []byte(body)
		if len(raw) > maxBody+2 {
			t.Fatalf("%s: %d bytes", name, len(raw))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, c := Read(raw)
		c.Relate("a.example")
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > most {
			t.Errorf("%s: %d KB allocated", name, used>>10)
		}
	}
}

// TestTimeGrowsWithTheBody compares a body with one a quarter of its size: what
// costs the product of two lengths costs sixteen times as much. Only a cost
// beyond a second, which no linear reader comes near, is looked at.
func TestTimeGrowsWithTheBody(t *testing.T) {
	// Keys to look through for each entry of a list that comes after them.
	body := func(list string, size int) []byte {
		var b strings.Builder
		b.WriteString(`{"name":"a","url":"u","capabilities":{"streaming":true},"defaultInputModes":[]`)
		for i := 0; b.Len() < 2*size/3; i++ {
			fmt.Fprintf(&b, `,"_%d":0`, i)
		}
		fmt.Fprintf(&b, `,%q:[0`, list)
		for b.Len() < size-len(",0]}") {
			b.WriteString(",0")
		}
		return []byte(b.String() + "]}")
	}
	cost := func(body []byte) time.Duration {
		begun := time.Now()
		if v, _ := Read(body); v.Reason == ReasonInvalidJSON {
			t.Fatalf("%+v", v)
		}
		return time.Since(begun)
	}
	for _, list := range []string{
		"skills", "supportedInterfaces", "additionalInterfaces", "signatures", "security", "securityRequirements",
		"protocolVersions", "defaultOutputModes", "authentication",
	} {
		large := cost(body(list, maxBody))
		if large < time.Second {
			continue
		}
		if small := cost(body(list, maxBody/4)); large > 10*small {
			t.Errorf("%s: %v, and %v for a quarter of it", list, large, small)
		}
	}
}

func TestBigCardIsReadWhole(t *testing.T) {
	v, c := Read([]byte(hostileBodies()["skills"]))
	if v.Kind != Is || c.SkillsCount < 10000 || len(c.Skills) != c.SkillsCount || c.Skills[c.SkillsCount-1].ID == "" {
		t.Errorf("%+v, %d skills", v, c.SkillsCount)
	}
}
