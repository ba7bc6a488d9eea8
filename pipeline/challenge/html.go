package challenge

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
)

// openings are the tags an HTML page begins with, in lower case.
var openings = []string{"<!doctype html", "<html", "<head", "<body", "<script", "<meta", "<title"}

// lineKeys are the keys by which a line of robots.txt is told from a line of HTML, in lower case.
var lineKeys = []string{"user-agent", "allow", "disallow", "sitemap", "crawl-delay", "host", "clean-param", "request-rate",
	"visit-time", "noindex", "content-signal", "content-usage"}

// IsHTML says whether a body is an HTML page: it begins like one, or it is declared as one, holds a tag, is not JSON and
// has no line of robots.txt. The declaration alone says nothing: plain rules are often served as text/html.
func IsHTML(h http.Header, body []byte) bool {
	if beginsAsHTML(body) {
		return true
	}
	if !strings.Contains(strings.ToLower(h.Get("Content-Type")), "html") || bytes.IndexByte(body, '<') < 0 {
		return false
	}
	start := skipBlanks(body)
	if start[0] == '{' || start[0] == '[' {
		return false
	}
	return !hasRobotsLine(body)
}

// beginsAsHTML looks past a byte order mark, blanks, comments and an XML declaration for one of the openings.
func beginsAsHTML(body []byte) bool {
	rest := skipBlanks(body)
	for {
		var end string
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			end = "-->"
		case bytes.HasPrefix(rest, []byte("<?xml")):
			end = "?>"
		case len(rest) == 0 || rest[0] != '<':
			return false
		default:
			return slices.ContainsFunc(openings, func(tag string) bool {
				return hasPrefixFold(rest, tag) && endsName(rest[len(tag):])
			})
		}
		_, after, found := bytes.Cut(rest, []byte(end))
		if !found {
			return false
		}
		rest = skipBlanks(after)
	}
}

// endsName says whether a tag's name ends here, so that <header> is not taken for <head>.
func endsName(rest []byte) bool {
	return len(rest) == 0 || strings.IndexByte(" \t\r\n\f/>", rest[0]) >= 0
}

func skipBlanks(b []byte) []byte {
	b = bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF"))
	return bytes.TrimLeft(b, " \t\r\n\f\v\x00")
}

// hasRobotsLine says whether any line is a known key, blanks and a colon. One pass: lines end at CR or LF.
func hasRobotsLine(body []byte) bool {
	for len(body) > 0 {
		line, rest := body, []byte(nil)
		if end := bytes.IndexAny(body, "\r\n"); end >= 0 {
			line, rest = body[:end], body[end+1:]
		}
		if isRobotsLine(line) {
			return true
		}
		body = rest
	}
	return false
}

func isRobotsLine(line []byte) bool {
	line = skipBlanks(line)
	for _, key := range lineKeys {
		if hasPrefixFold(line, key) {
			after := bytes.TrimLeft(line[len(key):], " \t")
			if len(after) > 0 && after[0] == ':' {
				return true
			}
		}
	}
	return false
}

// hasPrefixFold is bytes.HasPrefix without regard to ASCII case; lower is in lower case.
func hasPrefixFold(b []byte, lower string) bool {
	if len(b) < len(lower) {
		return false
	}
	for i := range len(lower) {
		c := b[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
