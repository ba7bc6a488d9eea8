package robots

import (
	"strings"

	"github.com/jimsmart/grobotstxt"
)

// groups gathers, while grobotstxt reads the lines, the rules of each configured token and of "*".
//
// The reader recognises the key of a line; the value is taken from the line itself, because the reader's own escaping
// loses patterns with lower-case percent encoding (its toUpper turns digits into control characters) and it cuts long
// lines, which makes another rule of them.
type groups struct {
	text       text
	named      []group // in order of preference
	any        group   // "*"
	inRules    bool    // the last line that counts was a rule: the next user agent begins a group
	hasAgent   bool    // there is a user-agent line, spelt so
	recognised bool    // there is a line with a key of robots.txt
}

// group is the rules for one user agent; groups for the same one are merged (RFC 9309 section 2.2.1).
type group struct {
	token  string
	exists bool
	open   bool // the group being read is for this user agent
	rules  []ruleLine
}

// ruleLine is the line of a rule, by its index in the text.
type ruleLine struct {
	index uint32
	allow bool
}

// otherKeys are the keys besides those of RFC 9309 and Sitemap that are in use in robots.txt, in lower case.
var otherKeys = map[string]bool{
	"crawl-delay": true, "host": true, "clean-param": true, "request-rate": true, "visit-time": true,
	"noindex": true, "content-signal": true, "content-usage": true,
}

// gather reads a text for the given tokens.
func gather(t text, tokens []string) *groups {
	g := &groups{text: t, any: group{token: "*"}}
	for _, token := range tokens {
		if token = Token(token); token != "" && token != "*" {
			g.named = append(g.named, group{token: token})
		}
	}
	grobotstxt.Parse(keysOf(t), g)
	return g
}

// keysOf is the text that the reader is given: of each line its key, and a value that only tells whether there is one.
// The reader compares a lower-cased copy of a key with each key it knows, which costs nothing where the key is in lower
// case; values it would escape in vain. A line without a colon may still be a rule, and is left to the reader whole.
//
// An empty line stands for those before the first that counts: only at the beginning of a file the reader skips what
// looks like a part of a byte order mark.
func keysOf(t text) string {
	var keys strings.Builder
	if t.late() {
		keys.WriteByte('\n')
	}
	for n := range t.lines {
		key, value, colon := strings.Cut(t.line(n), ":")
		for i := range len(key) {
			keys.WriteByte(lower(key[i]))
		}
		if colon {
			keys.WriteByte(':')
		}
		if value != "" {
			keys.WriteByte('x')
		}
		keys.WriteByte('\n')
	}
	return keys.String()
}

// index is that of a line in the text by its number in keysOf.
func (g *groups) index(number int) int {
	if g.text.late() {
		return number - 2
	}
	return number - 1
}

// chosen is the group that applies: its token, whether it names the bot, and its rules. A group that names the bot
// replaces "*" also when it has no rules.
func (g *groups) chosen() (token string, named bool, rules []ruleLine) {
	for _, n := range g.named {
		if n.exists {
			return n.token, true, n.rules
		}
	}
	if g.any.exists {
		return "*", false, g.any.rules
	}
	return "", false, nil
}

// Token is the product token of an agent string as "ExampleBot/1.0 (+https://bot.example/)": what comes before the
// first slash or blank. RFC 9309 section 2.2.1 has letters, "_" and "-" in it; others are kept.
func Token(agent string) string {
	agent = strings.TrimSpace(agent)
	if end := strings.IndexAny(agent, "/ \t"); end >= 0 {
		agent = agent[:end]
	}
	return agent
}

// HandleUserAgent begins a group, or adds a user agent to the one that is beginning. Only rules end the run of
// user-agent lines, other keys do not (section 2.2.1 by section 2.2.4).
func (g *groups) HandleUserAgent(number int, _ string) {
	g.recognised = true
	line := g.text.line(g.index(number))
	// Pages hold lines of JavaScript as "userAgent: navigator.userAgent", which pass for a misspelling.
	g.hasAgent = g.hasAgent || hasPrefixFold(line, "user-agent")
	if g.inRules {
		g.inRules = false
		g.any.open = false
		for i := range g.named {
			g.named[i].open = false
		}
	}
	value := valueOf(line)
	if value == "*" || strings.HasPrefix(value, "* ") || strings.HasPrefix(value, "*\t") {
		g.any.open, g.any.exists = true, true
		return
	}
	for i := range g.named {
		if names(value, g.named[i].token) {
			g.named[i].open, g.named[i].exists = true, true
		}
	}
}

// HandleAllow adds an allow rule to the groups being read.
func (g *groups) HandleAllow(number int, _ string) { g.add(g.index(number), true) }

// HandleDisallow adds a disallow rule to the groups being read.
func (g *groups) HandleDisallow(number int, _ string) { g.add(g.index(number), false) }

// add reads a rule. Rules before the first user agent are ignored; an empty pattern matches nothing, yet ends the run of
// user-agent lines as any rule does (section 2.2.2).
func (g *groups) add(index int, allow bool) {
	g.recognised, g.inRules = true, true
	if valueOf(g.text.line(index)) == "" {
		return
	}
	for i := -1; i < len(g.named); i++ {
		to := &g.any
		if i >= 0 {
			to = &g.named[i]
		}
		if to.open {
			to.rules = append(to.rules, ruleLine{uint32(index), allow})
		}
	}
}

// HandleSitemap takes note of the line and of nothing in it.
func (g *groups) HandleSitemap(int, string) { g.recognised = true }

// HandleUnknownAction takes note of lines whose keys are in use elsewhere.
func (g *groups) HandleUnknownAction(_ int, key, _ string) {
	if len(key) < 20 && otherKeys[strings.ToLower(key)] {
		g.recognised = true
	}
}

// HandleRobotsStart does nothing: the groups are new.
func (g *groups) HandleRobotsStart() {}

// HandleRobotsEnd does nothing: the groups are as they are to be.
func (g *groups) HandleRobotsEnd() {}

// valueOf is what follows the colon of a line, or the first blank when there is none.
func valueOf(line string) string {
	sep := strings.IndexByte(line, ':')
	if sep < 0 {
		sep = strings.IndexAny(line, " \t")
	}
	return strings.TrimFunc(line[sep+1:], isBlank)
}

// names says whether the value of a user-agent line names a token: it begins with it, in any case, and goes on with
// nothing a token is made of. "ExampleBot*", "ExampleBot/1.0" and "ExampleBot 2" name ExampleBot, "ExampleBot-News"
// does not.
func names(value, token string) bool {
	if !hasPrefixFold(value, token) {
		return false
	}
	return len(value) == len(token) || !continues(token[len(token)-1], value[len(token)])
}

// continues says whether a token that ends in last goes on with next. Digits are no part of a token by section 2.2.1,
// but bots have them: bot1 is not bot12.
func continues(last, next byte) bool {
	return isLetter(next) || next == '-' || next == '_' || isDigit(last) && isDigit(next)
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// lower is c, in lower case if it is an ASCII letter.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
