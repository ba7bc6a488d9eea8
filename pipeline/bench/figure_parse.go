package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"agentcensus/pipeline"
	"agentcensus/pipeline/agentcard"
	"agentcensus/pipeline/robots"
)

// parseFigures are the costs of reading what sites send: a robots.txt with
// both questions a crawl has for it, and a card.
func parseFigures(_ context.Context, o Options) ([]Figure, error) {
	var out []Figure
	for _, size := range []int{1_000, 20_000, robots.MaxBody} {
		r := robots.Response{Status: http.StatusOK, Body: sampleRobots(size)}
		cost := timed(o.Rounds, func() {
			p := robots.Read(r, []string{"agentcensus"}, robots.RFC9309)
			p.Allows(pipeline.CardPath)
			p.Allows(pipeline.LegacyCardPath)
		})
		out = append(out, shown(fmt.Sprintf("robots.txt of %d bytes, read and asked twice", len(r.Body)), "%.1f µs, %.0f MB/s",
			cost*1e6, float64(len(r.Body))/1e6/cost))
	}
	card := sampleCard(20_000)
	if v, _ := agentcard.Read(card); v.Kind != agentcard.Is {
		return nil, fmt.Errorf("the sample card is none: %+v", v)
	}
	read := timed(o.Rounds, func() { agentcard.Read(card) })
	valid := timed(o.Rounds, func() { json.Valid(card) })
	return append(out,
		atMost(fmt.Sprintf("card of %d bytes, read: x json.Valid", len(card)), read/valid, 20, ""),
		shown("card, read", "%.0f µs", read*1e6)), nil
}

// timed is what f takes in seconds, the median of so many rounds.
func timed(rounds int, f func()) float64 {
	const atLeast = 50 * time.Millisecond
	var xs []float64
	for range rounds {
		begun, n := time.Now(), 0
		for time.Since(begun) < atLeast {
			f()
			n++
		}
		xs = append(xs, time.Since(begun).Seconds()/float64(n))
	}
	return median(xs)
}

// sampleRobots is a file of at most size bytes as sites have them: groups,
// paths, wildcards, comments.
func sampleRobots(size int) []byte {
	var b strings.Builder
	for i := 0; ; i++ {
		block := fmt.Sprintf("# part %d\nUser-agent: reader%d\nDisallow: /drafts/%d/\n\nUser-agent: *\nDisallow: /basket/%d/\n"+
			"Disallow: /*?sort=%d\nAllow: /basket/%d/*.html$\nSitemap: https://shop.example/map%d.xml\n", i, i, i, i, i, i, i)
		if b.Len()+len(block) > size {
			return []byte(b.String())
		}
		b.WriteString(block)
	}
}
