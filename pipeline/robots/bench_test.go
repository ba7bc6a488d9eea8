package robots_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"agentcensus/pipeline/robots"
)

// sample is a file of at most size bytes as sites have them: groups, paths, wildcards, comments.
func sample(size int) []byte {
	var b strings.Builder
	for i := 0; ; i++ {
		block := fmt.Sprintf("# section %d\nUser-agent: crawler%d\nDisallow: /private/%d/\n\nUser-agent: *\nDisallow: /shop/%d/cart\n"+
			"Disallow: /*?session=%d\nAllow: /shop/%d/*.html$\nSitemap: https://site.example/map%d.xml\n", i, i, i, i, i, i, i)
		if b.Len()+len(block) > size {
			return []byte(b.String())
		}
		b.WriteString(block)
	}
}

// BenchmarkReadAndAsk reads a file and asks for both card paths, as a crawl does.
func BenchmarkReadAndAsk(b *testing.B) {
	bodies := []struct {
		name string
		body []byte
	}{
		{"1KB", sample(1000)},
		{"20KB", sample(20_000)},
		{"500KiB", sample(robots.MaxBody)},
		{"500KiB/Allow", repeat("User-agent: *\n", "Allow:*\n")},
		{"500KiB/CR", repeat("User-agent: *\r", "Allow:/a\r")},
		{"500KiB/stars", repeat("User-agent: *\nDisallow: /", "*")},
		{"500KiB/wildcards", repeat("User-agent: *\nDisallow: /", "*l")},
		{"500KiB/questions", repeat("User-agent: *\n", "Disallow: /*?*?\n")},
		{"500KiB/HTML", repeat("<!DOCTYPE html>\n", "<p>Hello</p>\n")},
		{"500KiB/blanks", repeat("User-agent: *", " ")},
	}
	for _, bb := range bodies {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.body)))
			b.ReportAllocs()
			r := robots.Response{Status: http.StatusOK, Body: bb.body}
			for b.Loop() {
				p := robots.Read(r, []string{bot}, robots.RFC9309)
				p.Allows(card)
				p.Allows("/.well-known/agent.json")
			}
		})
	}
}

// BenchmarkLongPath asks hostile rules for the longest path.
func BenchmarkLongPath(b *testing.B) {
	path := "/" + strings.Repeat("l", robots.MaxPath-1)
	growing := "User-agent: *"
	for n := 500; ; n++ {
		line := "\nDisallow: /" + strings.Repeat("*l", n)
		if len(growing)+len(line) > robots.MaxBody {
			break
		}
		growing += line
	}
	for name, body := range map[string][]byte{
		"one":      repeat("User-agent: *\nDisallow: /", "*l"),
		"many":     repeat("User-agent: *\nDisallow: /", "\nDisallow: /*l*x"),
		"all true": []byte(growing),
	} {
		b.Run(name, func(b *testing.B) {
			p := robots.Read(robots.Response{Status: http.StatusOK, Body: body}, []string{bot}, robots.RFC9309)
			for b.Loop() {
				p.Allows(path)
			}
		})
	}
}

// repeat fills MaxBody bytes.
func repeat(head, line string) []byte {
	return []byte(head + strings.Repeat(line, (robots.MaxBody-len(head))/len(line)))
}
