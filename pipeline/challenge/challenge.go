// Package challenge recognises the pages that firewalls and bot filters put in place of what was asked for.
//
// It promises that a page is named a challenge only on evidence the vendor puts on challenges and blocks: first the
// headers made for that purpose, then, in HTML alone, marks of the page's body. Cookies, server names and the script
// tags that ordinary protected pages carry too are no evidence. Markers are never looked for outside HTML, since real
// robots.txt files name such paths in their rules.
//
// What a challenge means is left to the caller: for robots.txt the site is closed, for a card nothing is known.
package challenge

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
)

// maxScan is how many bytes of a page are searched for a title and markers.
const maxScan = 64 << 10

// Recognise names the vendor of the challenge or block page that an answer is; ok is false when it is none.
// The vendor is a short lower-case word with underscores. The body is decoded and may be cut; its first 64 KiB count.
func Recognise(status int, h http.Header, body []byte) (vendor string, ok bool) {
	for _, s := range headerSigns {
		if s.matches(status, h) {
			return s.vendor, true
		}
	}
	if !IsHTML(h, body) {
		return "", false
	}
	page := body[:min(len(body), maxScan)]
	title := strings.ToLower(titleOf(page))
	for _, s := range pageSigns {
		if s.matches(status, page, len(body), title) {
			return s.vendor, true
		}
	}
	return "", false
}

// headerSign is a response header that vendors set on challenges.
type headerSign struct {
	vendor   string
	name     string   // in canonical form; a trailing "*" stands for any ending
	values   []string // lower case, one of these; none: any value
	not      string   // lower case, any value but this one
	statuses []int    // one of these; none: any status
}

func (s headerSign) matches(status int, h http.Header) bool {
	if len(s.statuses) > 0 && !slices.Contains(s.statuses, status) {
		return false
	}
	prefix, wild := strings.CutSuffix(s.name, "*")
	if !wild {
		return slices.ContainsFunc(h[s.name], s.accepts)
	}
	for name, values := range h {
		if strings.HasPrefix(name, prefix) && slices.ContainsFunc(values, s.accepts) {
			return true
		}
	}
	return false
}

func (s headerSign) accepts(value string) bool {
	v := strings.ToLower(strings.TrimSpace(value))
	if v == "" || s.not != "" && v == s.not {
		return false
	}
	return len(s.values) == 0 || slices.Contains(s.values, v)
}

// pageSign is a mark of a challenge's HTML. All of its conditions must hold.
type pageSign struct {
	vendor   string
	title    string   // lower case, contained in the page's title
	markers  []string // each contained in the page, case as written
	statuses []int    // one of these; none: any status
	within   int      // pages of at most so many bytes; 0: any
}

func (s pageSign) matches(status int, page []byte, size int, title string) bool {
	if len(s.statuses) > 0 && !slices.Contains(s.statuses, status) {
		return false
	}
	if s.within > 0 && size > s.within {
		return false
	}
	if !strings.Contains(title, s.title) {
		return false
	}
	for _, m := range s.markers {
		if !bytes.Contains(page, []byte(m)) {
			return false
		}
	}
	return true
}

// titleOf is the text of the first <title> element, "" when there is none.
func titleOf(page []byte) string {
	start := indexFold(page, "<title")
	if start < 0 {
		return ""
	}
	rest := page[start:]
	open := bytes.IndexByte(rest, '>')
	if open < 0 {
		return ""
	}
	rest = rest[open+1:]
	end := bytes.IndexByte(rest, '<')
	if end < 0 {
		return ""
	}
	return strings.TrimSpace(string(rest[:end]))
}

// indexFold is bytes.Index without regard to ASCII case; lower is in lower case.
func indexFold(b []byte, lower string) int {
	for i := 0; i+len(lower) <= len(b); i++ {
		if hasPrefixFold(b[i:], lower) {
			return i
		}
	}
	return -1
}
