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
		costs, err := timed(o.Rounds, func() {
			p := robots.Read(r, []string{"agentcensus"}, robots.RFC9309)
			p.Allows(pipeline.CardPath)
			p.Allows(pipeline.LegacyCardPath)
		})
		if err != nil {
			return nil, err
		}
		cost := median(costs[0])
		out = append(out, shown(fmt.Sprintf("robots.txt of %d bytes, read and asked twice", len(r.Body)), "%.1f µs, %.0f MB/s",
			cost*1e6, float64(len(r.Body))/1e6/cost))
	}
	card := sampleCard(1, cardSize)
	if v, _ := agentcard.Read(card); v.Kind != agentcard.Is {
		return nil, fmt.Errorf("the sample card is none: %+v", v)
	}
	costs, err := timed(o.Rounds, func() { agentcard.Read(card) }, func() { json.Valid(card) })
	if err != nil {
		return nil, err
	}
	var ratios []float64
	for i := range costs[0] {
		ratios = append(ratios, costs[0][i]/costs[1][i])
	}
	return append(out,
		atMost(fmt.Sprintf("card of %d bytes, read: x json.Valid", len(card)), median(ratios), 20, ""),
		shown("card, read", "%.0f µs", median(costs[0])*1e6)), nil
}

// timed is the CPU each of fs takes a call, in seconds, once a round. The
// process's own CPU tells it on a busy machine too; the collector's is in it.
func timed(rounds int, fs ...func()) ([][]float64, error) {
	const (
		atLeast = 50 * time.Millisecond
		between = time.Millisecond // so often the clock is read
	)
	costs := make([][]float64, len(fs))
	for range rounds {
		for i, f := range fs {
			begun, err := ownCPU()
			if err != nil {
				return nil, err
			}
			n, spent := 0, time.Duration(0)
			for spent < atLeast {
				for lap := time.Now(); time.Since(lap) < between; n++ {
					f()
				}
				now, err := ownCPU()
				if err != nil {
					return nil, err
				}
				spent = now - begun
			}
			costs[i] = append(costs[i], spent.Seconds()/float64(n))
		}
	}
	return costs, nil
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
