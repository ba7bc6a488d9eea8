package sink

import (
	"fmt"
	"strings"
	"testing"

	"agentcensus/sink/state"
)

// maxBody is the largest card that a crawl reads, in bytes.
const maxBody = 262_144

// hostileCards are cards made to cost as much as their bytes can.
func hostileCards() map[string]string {
	fill := func(head, unit, tail string) string {
		n := min((maxBody-len(head)-len(tail))/len(unit), 1<<16-100)
		return head + strings.TrimSuffix(strings.Repeat(unit, n), ",") + tail
	}
	const card = `{"name":"x","supportedInterfaces":[{"url":"https://a.example/","protocolBinding":"B"}]`
	before, after, _ := strings.Cut(card, "B\"")
	after = `"` + after
	cards := map[string]string{
		"signatures and a long binding": before + strings.Repeat("<", maxBody/2-300) + after + `,"signatures":[` + strings.Repeat("0,", 65_000-1) + "0]}",
		"a binding of escapes":          fill(before, `\u2028`, after+"}"),
		"signatures":                    fill(card+`,"signatures":[`, "0,", "]}"),
		"skills":                        fill(card+`,"skills":[`, "{},", "]}"),
		"tags":                          fill(card+`,"skills":[{"tags":[`, `"",`, "]}]}"),
		"extensions":                    fill(card+`,"capabilities":{"extensions":[`, "{},", "]}}"),
		"modes":                         fill(card+`,"defaultInputModes":[`, `"",`, "]}"),
		"security requirements":         fill(card+`,"securityRequirements":[`, `{"schemes":{"":{}}},`, "]}"),
		"header keys":                   fill(card+`,"signatures":[{"header":{`, `"a":0,`, "}}]}"),
	}
	var b strings.Builder
	b.WriteString(`{"name":"x","supportedInterfaces":[`)
	for i := 0; b.Len() < maxBody-100; i++ {
		fmt.Fprintf(&b, `{"url":"%x","protocolBinding":"JSONRPC"},`, i)
	}
	cards["interfaces"] = strings.TrimSuffix(b.String(), ",") + "]}"
	b.Reset()
	b.WriteString(card + `,"securitySchemes":{`)
	for i := 0; b.Len() < maxBody-100; i++ {
		fmt.Fprintf(&b, `"%x":{},`, i)
	}
	cards["security schemes"] = strings.TrimSuffix(b.String(), ",") + "}}"
	return cards
}

// No card makes a row that the state refuses: a crawl would end with it.
func TestNoCardMakesARowTooLarge(t *testing.T) {
	for name, body := range hostileCards() {
		t.Run(name, func(t *testing.T) {
			if len(body) > maxBody {
				t.Fatalf("%d bytes are no body", len(body))
			}
			row := rowOf(t, 1, "a.example", body)
			rows, err := Record{Entry: 1, Outcome: outcomeCard, Card: &row}.rows()
			if err != nil {
				t.Fatal(err)
			}
			if size := len(rows[0].Data); size > state.MaxRow/2 {
				t.Errorf("%d bytes in the state", size)
			}
			if len(row.Signatures) > MaxListed || len(row.Skills) > MaxListed || len(row.Interfaces) > MaxListed {
				t.Errorf("%d signatures, %d skills, %d interfaces", len(row.Signatures), len(row.Skills), len(row.Interfaces))
			}
		})
	}
}

// What is beyond the first entries of a list is still counted.
func TestALongListIsCutAndCounted(t *testing.T) {
	row := rowOf(t, 1, "a.example", hostileCards()["signatures"])
	if len(row.Signatures) != MaxListed || row.SignaturesCount < 60_000 {
		t.Errorf("%d signatures kept, %d counted", len(row.Signatures), row.SignaturesCount)
	}
}
