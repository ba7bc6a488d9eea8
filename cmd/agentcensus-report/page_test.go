package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// truth is what the report has to say of the census of census_test.go, worked
// out by hand: a row a line, columns joined by " | ", shares as the fraction
// that they are.
var truth = map[string][]string{
	"adoption-by-rank": {
		"1 | 100 | 1 | 100 | 80 | 0.01 | 0.0125",
		"101 | 500 | 1 | 400 | 320 | 0.0025 | 0.003125",
		"501 | 1,000 | 2 | 500 | 252 | 0.004 | " + fraction(2, 252),
		"50,001 | 100,000 | 1 | 980 | 548 | " + fraction(1, 980) + " | " + fraction(1, 548),
	},
	"adoption-in-top": {
		"1,000 | 4 | 1,000 | 652 | 0.004 | " + fraction(4, 652),
		"10,000 | 4 | 1,000 | 652 | 0.004 | " + fraction(4, 652),
		"100,000 | 5 | 1,980 | 1,200 | " + fraction(5, 1980) + " | " + fraction(5, 1200),
		"1,000,000 | 5 | 1,980 | 1,200 | " + fraction(5, 1980) + " | " + fraction(5, 1200),
	},
	"trend-of-cards": {
		"2026-10-01 | 500 | 301 | 3 | 0 | 1 | 2 | 0.006 | " + fraction(3, 301) + " | 900",
		"2026-11-01 | 1,980 | 1,200 | 5 | 2 | 1 | 2 | " + fraction(5, 1980) + " | " + fraction(5, 1200) + " | 5,100",
	},
	"trend-of-shares": {
		"2026-10-01 | 500 | 301 | 3 | 0 | 1 | 2 | 0.006 | " + fraction(3, 301) + " | 900",
		"2026-11-01 | 1,980 | 1,200 | 5 | 2 | 1 | 2 | " + fraction(5, 1980) + " | " + fraction(5, 1200) + " | 5,100",
	},
	"versions":     {"1.0 | 2 | 0 | 0 | 2 | 0.5", "0.2 | 0 | 1 | 0 | 1 | 0.25", "0.3 | 1 | 0 | 0 | 1 | 0.25"},
	"card-shapes":  {"0.x | 2 | 0 | 2 | 0 | 1", "1.x | 1 | 0 | 1 | 1 | 0", "union | 0 | 1 | 1 | 1 | 1"},
	"bindings":     {"JSONRPC | core | 4 | 4 | 1", hostileBinding + " | custom | 1 | 1 | 0.25", "GRPC | core | 1 | 1 | 0.25"},
	"capabilities": {"streaming | 2 | 1 | 1 | 4", "extended_card | 0 | 0 | 4 | 4", "push_notifications | 0 | 1 | 3 | 4", "state_transition_history | 0 | 0 | 4 | 4"},
	"auth-schemes": {"(none declared) | 2 | 0.5", "http | 2 | 0.5", "oauth2 | 1 | 0.25"},
	"auth-required": {
		"(not stated) | 2 | 0.5 | 1", "optional | 1 | 0.25 | 0", "required | 1 | 0.25 | 0"},
	"signing":              {"not signed | 2 | 0.5", "malformed signatures only | 1 | 0.25", "signed | 1 | 0.25"},
	"signature-algorithms": {"ES256 | same_host | 1 | 0", "HS256 | (no key set URL) | 1 | 1"},
	"host-kinds":           {"other_site | 2 | 4 | 0.5", "loopback | 1 | 1 | 0.25", "same_host | 1 | 1 | 0.25"},
	"host-domains":         {"run.app | 1 | 2", "example.co.uk | 1 | 1", "vercel.app | 1 | 1"},
	"skill-tags": {
		"text | 2 | 2 | 0.5", "music | 1 | 2 | 0.25", hostileTag + " | 1 | 1 | 0.25",
		"ask (mail address) now | 1 | 1 | 0.25", "safegnp.exe[2j | 1 | 1 | 0.25"},
	"skill-counts": {"0 | 1 | 0.25", "1 | 1 | 0.25", "2–3 | 1 | 0.25", "4–10 | 1 | 0.25"},
	"outcomes": {
		"answered | not_found | 579 | 0.2895", "answered | soft_404 | 569 | 0.2845", "no answer | dns_not_found | 432 | 0.216",
		"kept out | robots_disallowed | 200 | 0.1", "answered | challenged | 80 | 0.04", "kept out | robots_unreadable | 48 | 0.024",
		"answered | client_error | 47 | 0.0235", "no answer | timeout | 16 | 0.008", "ours | duplicate | 15 | 0.0075",
		"published | card | 5 | 0.0025", "ours | invalid_name | 5 | 0.0025", "kept out | opted_out | 4 | 0.002"},
	"kept-out": {
		"robots.txt | robots_disallowed |  | 200 | 0.1", "bot wall | challenged | wall | 80 | 0.04",
		"robots.txt | robots_unreadable | challenge_wall | 48 | 0.024", "owner | opted_out |  | 4 | 0.002"},
	"robots-answers": {"no_rules | 900 | 0.75", "rules | 300 | 0.25"},
	"card-answers":   {"not_found | 600 | 579", "card | 4 | 1"},
	"warnings":       {"skill_missing_name | 1 | 0 | 1 | 2 | 0.5", "url_not_https | 1 | 1 | 0 | 2 | 0.5"},
	"uptime":         {"2026-11-09 | 5 | 2 | 1 | 1 | 1 | " + fraction(2, 3) + " | 80"},
	"churn":          {"2026-11-01 | monthly | 2026-10-01 | 2 | 1 | 2 | 1 | 1 | 1", "2026-11-09 | weekly | 2026-11-01 | 0 | 1 | 2 | 1 | 1 | 0"},
}

// headlines are the tiles of the page, in order: label, number, and what it is of.
var headlines = []string{
	"Cards | 5 | sites that publish an Agent Card",
	"Share of readable sites | " + fraction(5, 1200) + " | 5 of 1,200",
	"Share of listed sites | " + fraction(5, 1980) + " | 5 of 1,980",
	"Support A2A 1.0 | 0.5 | 2 of 4 cards",
	"Declare authentication | 0.5 | 2 of 4 cards",
	"Signed | 0.25 | 1 of 4 cards; not verified",
	"New | 2 | cards since 2026-10-01",
	"Gone | 1 | cards since 2026-10-01",
	"Up: an address answered | " + fraction(2, 3) + " | 2 up, 1 down of 5 in the week of 2026-11-09",
}

func fraction(a, b float64) string { return strconv.FormatFloat(a/b, 'g', -1, 64) }

func parsePage(t *testing.T, page string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// all returns the elements of a kind below n.
func all(n *html.Node, kind atom.Atom) (found []*html.Node) {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.DataAtom == kind {
			found = append(found, d)
		}
	}
	return found
}

// textOf returns the text of an element: of a number the number itself, not as
// it is rounded for readers.
func textOf(n *html.Node) string {
	var text strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			text.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(text.String())
}

func valueOf(n *html.Node) string {
	if numbers := all(n, atom.Data); len(numbers) == 1 {
		return attribute(numbers[0], "value")
	}
	return textOf(n)
}

func bodyRows(n *html.Node) (rows []string) {
	for _, body := range all(n, atom.Tbody) {
		for _, tr := range all(body, atom.Tr) {
			var cells []string
			for _, td := range all(tr, atom.Td) {
				cells = append(cells, valueOf(td))
			}
			rows = append(rows, strings.Join(cells, " | "))
		}
	}
	return rows
}

func TestEveryNumberOnThePageIsTrue(t *testing.T) {
	page, _ := pageOf(t, writeCensus(t))
	root := parsePage(t, page)
	found := make(map[string][]string)
	for _, article := range all(root, atom.Article) {
		found[attribute(article, "id")] = bodyRows(article)
	}
	if diff := cmp.Diff(truth, found); diff != "" {
		t.Errorf("tables (-truth +page)\n%s", diff)
	}
	var tiles []string
	for _, list := range all(root, atom.Dl) {
		for n := range list.ChildNodes() {
			if n.Type != html.ElementNode {
				continue
			}
			words := []string{textOf(all(n, atom.Dt)[0])}
			for _, dd := range all(n, atom.Dd) {
				words = append(words, valueOf(dd))
			}
			tiles = append(tiles, strings.Join(words, " | "))
		}
	}
	if diff := cmp.Diff(headlines, tiles); diff != "" {
		t.Errorf("headlines (-truth +page)\n%s", diff)
	}
}

// A chart's bars cannot be read off by a test, its numbers can: those that stand
// at the bars, and those of its description.
func TestChartsShowTheNumbersOfTheirTables(t *testing.T) {
	page, _ := pageOf(t, writeCensus(t))
	for _, check := range []struct {
		id, label string
		texts     []string
	}{
		{"outcomes", "Bar chart: What became of the list entries. Axis: list entries. not_found: answered 579. soft_404: answered 569.",
			[]string{"579", "569", "432", "200", "80", "48", "47", "16", "15", "5", "5", "4", "not_found", "list entries"}},
		{"adoption-by-rank", "1–100: of readable sites 1.25%, of listed sites 1%. 101–500: of readable sites 0.312%, of listed sites 0.25%.",
			[]string{"1.25%", "0.312%", "0.794%", "0.182%", "1%", "0.25%", "0.4%", "0.102%", "50,001–100,000"}},
		{"uptime", "2026-11-09: up 2, down 1, unknown 1, skipped 1.", []string{"2026-11-09", "publishers"}},
		{"trend-of-cards", "Line chart: Cards from crawl to crawl. Axis: cards. 2026-10-01: cards 3, supporting 1.0 0, with schemes 2, signed 1.", []string{"2026-11-01"}},
		{"skill-tags", `<script>alert("tag")</script>: 1.`, []string{`<script>alert("tag")</script>`}},
	} {
		t.Run(check.id, func(t *testing.T) {
			for _, article := range all(parsePage(t, page), atom.Article) {
				if attribute(article, "id") != check.id {
					continue
				}
				chart := article
				for _, div := range all(article, atom.Div) {
					if attribute(div, "class") == "chart" {
						chart = div
					}
				}
				if label := attribute(chart, "aria-label"); !strings.Contains(label, check.label) {
					t.Errorf("label %q\nhas not %q", label, check.label)
				}
				texts := make(map[string]int)
				for d := range all(chart, atom.Svg)[0].Descendants() {
					if d.Type == html.TextNode {
						texts[d.Data]++
					}
				}
				for _, text := range check.texts {
					if texts[text]--; texts[text] < 0 {
						t.Errorf("the chart has not %q: %v", text, texts)
					}
				}
				return
			}
			t.Fatal("no such exhibit")
		})
	}
}

func TestThePageIsSafeAndSelfContained(t *testing.T) {
	page, _ := pageOf(t, writeCensus(t))
	root := parsePage(t, page)
	if scripts := all(root, atom.Script); len(scripts) != 1 || textOf(scripts[0]) != strings.TrimSpace(pageJS) {
		t.Errorf("%d scripts", len(scripts))
	}
	for _, kind := range []atom.Atom{atom.Img, atom.Iframe, atom.Object, atom.Embed, atom.Form, atom.Base} {
		if n := len(all(root, kind)); n > 0 {
			t.Errorf("%d elements of %s", n, kind)
		}
	}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || (a.Key == "src" || a.Key == "href" || a.Key == "xlink:href") && !strings.HasPrefix(a.Val, "#") && a.Val != "data:," {
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			}
		}
	}
	for _, private := range []string{"person.example", "Sings of", "icon.png", "finch.example", "heron.example", "\x1b", "\u202e"} {
		if strings.Contains(page, private) {
			t.Errorf("the page has %q", private)
		}
	}
	if loaded := regexp.MustCompile(`url\(|@import|https?://`).FindString(strings.ReplaceAll(page, "http://www.w3.org", "")); loaded != "" {
		t.Errorf("the page has %q", loaded)
	}
	if unthemed := regexp.MustCompile(`style="[^"]*(rgb|#)[^"]*"`).FindString(page); unthemed != "" {
		t.Errorf("a colour that knows nothing of light and dark: %s", unthemed)
	}
}

func TestThePageSaysWhatUpMeans(t *testing.T) {
	page, _ := pageOf(t, writeCensus(t))
	if !strings.Contains(textOf(parsePage(t, page)), "Up means only that a public address answered") {
		t.Error("it does not")
	}
}
