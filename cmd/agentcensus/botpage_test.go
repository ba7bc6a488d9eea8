package main

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"agentcensus/pipeline"
	"agentcensus/pipeline/fetch"
	"agentcensus/signing"
)

// pageText is the page as a reader sees it: without markup, blanks as one.
func pageText(t *testing.T, c *config) string {
	t.Helper()
	response, body := ask(t, "GET", served(t, c, at(noon)), testAuthority, botPath, nil)
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("status %d, %s", response.StatusCode, response.Header.Get("Content-Type"))
	}
	text := regexp.MustCompile(`(?s)<style>.*</style>|<[^>]*>`).ReplaceAllString(string(body), "")
	return strings.Join(strings.Fields(html.UnescapeString(text)), " ")
}

func checkSays(t *testing.T, page string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(page, w) {
			t.Errorf("the page does not say %q", w)
		}
	}
}

// What the page says of the crawler is what the crawler does.
func TestThePageSaysWhatTheCrawlerDoes(t *testing.T) {
	c := botConfiguration(t)
	c.Limits.InFlight = new(17)
	page := pageText(t, c)
	set, err := c.keySet()
	if err != nil {
		t.Fatal(err)
	}
	checkSays(t, page,
		pipeline.RobotsPath+", always first", pipeline.CardPath, pipeline.LegacyCardPath,
		"User-Agent "+c.userAgent(),
		fmt.Sprintf("at most %d redirects", fetch.MaxRedirects),
		"Schedule on the first of each month, and on Mondays",
		"One request at a time",
		"At most 17 requests at once",
		fmt.Sprintf("%d seconds a request", requestTimeout/time.Second),
		"512,000 bytes (500 KiB) of /robots.txt", "262,144 bytes (256 KiB) of a card",
		"User-agent: SampleBot Disallow: /",
		"replaces the group *",
		"removed or corrected, write to https://survey.example/contact",
		"Both are done within 7 days",
		"one line a week in a table of checks",
		`Signature-Agent: sig1="https://bot.example"`,
		"https://bot.example"+signing.DirectoryPath,
		set.Keys()[0].ID+" signs now, expires 2027-02-01",
		set.Keys()[1].ID+" valid from 2027-01-01",
		"Operator The Sample Survey", "Contact https://survey.example/contact",
	)
	if pipeline.MaxRobotsBody != 512_000 || pipeline.MaxCardBody != 262_144 {
		t.Errorf("the crawler reads %d and %d bytes", pipeline.MaxRobotsBody, pipeline.MaxCardBody)
	}
}

func TestThePageFollowsTheConfiguration(t *testing.T) {
	for name, tc := range map[string]struct {
		change    func(*config)
		says, not string
	}{
		"one slot":      {func(c *config) { c.Limits.InFlight = new(1) }, "At most 1 request at once", ""},
		"policy strict": {func(c *config) { c.Robots.Policy = "strict" }, "status 401 or 403", ""},
		"policy of the RFC": {func(c *config) { c.Robots.Policy = "rfc9309" },
			"429 or 5xx", "401"},
		"several tokens": {func(c *config) { c.Bot.Tokens = []string{"SampleBot", "Sample-Survey"} },
			"any of these names: SampleBot, Sample-Survey.", ""},
		"one token":   {func(*config) {}, "", "any of these names"},
		"no schedule": {func(c *config) { c.Bot.Schedule = "" }, "When Monthly crawl", "Schedule"},
		"the older drafts' form": {func(c *config) { c.Signing.Form = "legacy-string" },
			`Signature-Agent: "https://bot.example"`, "sig1="},
		"the directory as agent": {func(c *config) { c.Signing.Agent = "https://bot.example" + signing.DirectoryPath },
			`Signature-Agent: sig1="https://bot.example/.well-known/`, ""},
		"markup in a value": {func(c *config) { c.Bot.Operator = `<script>alert("1")</script> & Co` },
			`Operator <script>alert("1")</script> & Co`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := botConfiguration(t)
			tc.change(c)
			page := pageText(t, c)
			checkSays(t, page, tc.says)
			if tc.not != "" && strings.Contains(page, tc.not) {
				t.Errorf("the page says %q", tc.not)
			}
		})
	}
}

func TestContactsAreLinks(t *testing.T) {
	for text, want := range map[string]contact{
		"https://survey.example/contact": {"https://survey.example/contact", "https://survey.example/contact"},
		"crawl@survey.example":           {"crawl@survey.example", "mailto:crawl@survey.example"},
		"mailto:crawl@survey.example":    {"crawl@survey.example", "mailto:crawl@survey.example"},
		"+1-555-0100":                    {"+1-555-0100", ""},
		"javascript:alert(1)":            {"javascript:alert(1)", ""},
	} {
		if got := contactOf(text); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func TestByteCountsAreForPeople(t *testing.T) {
	for n, want := range map[byteCount]string{
		0: "0 bytes (0 KiB)", 999: "999 bytes", 1024: "1,024 bytes (1 KiB)",
		512_000: "512,000 bytes (500 KiB)", 1_234_567: "1,234,567 bytes",
	} {
		if got := n.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestThePageIsCacheableAndLoadsNothing(t *testing.T) {
	address := served(t, botConfiguration(t), at(noon))
	whole, body := ask(t, "GET", address, testAuthority, botPath, nil)
	if policy := whole.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none';") {
		t.Errorf("Content-Security-Policy %q", policy)
	}
	if found := regexp.MustCompile(`(?i)<script|<img|<iframe|\bsrc=|url\(|@import`).Find(body); found != nil {
		t.Errorf("there is %q in the page", found)
	}
	response, again := ask(t, "GET", address, testAuthority, botPath, http.Header{"If-None-Match": {whole.Header.Get("Etag")}})
	if response.StatusCode != http.StatusNotModified || len(again) != 0 {
		t.Errorf("status %d with %d bytes for the page's own tag", response.StatusCode, len(again))
	}
	if response, _ := ask(t, "POST", address, testAuthority, botPath, nil); response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d", response.StatusCode)
	}
	if response, again := ask(t, "HEAD", address, testAuthority, botPath, nil); response.StatusCode != http.StatusOK || len(again) != 0 {
		t.Errorf("HEAD: status %d with %d bytes", response.StatusCode, len(again))
	}
}
