package simweb

import (
	"strings"
	"sync"
	"unicode/utf16"
)

const (
	star  = "star_group"
	named = "named_group"

	// The reasons of a file with rules tell how it decides for the first path.
	byStar  = "disallowed_by_" + star
	byNamed = "disallowed_by_" + named
)

// BOT stands for the product token of Config.Bot in the files below.
const botMark = "BOT"

// robotsFiles are files of rules; at a card path they are text that is no JSON.
func robotsFiles() []*behaviour {
	return []*behaviour{
		rules("robots_allow", "allowed_by_absence", "User-agent: *\nDisallow: /admin/\nDisallow: /cart\n\nSitemap: https://lamps.example/sitemap.xml\n", "", ""),
		rules("robots_allow_all", "allowed_by_absence", "User-agent: *\nDisallow:\n", "", ""),
		rules("robots_other_bots", "allowed_by_rule", "User-agent: GreedyBot\nUser-agent: OtherBot\nDisallow: /\n\nUser-agent: *\nAllow: /\n", "", ""),
		rules("robots_named_allow", "allowed_by_rule", "User-agent: *\nDisallow: /\n\nUser-agent: BOT\nAllow: /\n", "", ""),
		rules("robots_well_known_allow", "allowed_by_rule", "User-agent: *\nDisallow: /\nAllow: /.well-known/\n", "", "").withoutHome(),
		rules("robots_disallow", byStar, "User-agent: *\nDisallow: /\n", star, star).everything(),
		rules("robots_disallow_crlf", byStar, "user-agent:*\r\ndisallow:/\r\n", star, star).everything(),
		rules("robots_well_known", byStar, "User-agent: *\nDisallow: /.well-known/\n", star, star).more("/.well-known/"),
		rules("robots_pattern", byStar, "User-agent: *\nDisallow: /*.json$\n", star, star),
		rules("robots_disallow_named", byNamed, "User-agent: *\nAllow: /\n\nUser-agent: BOT\nDisallow: /\n", named, named).everything(),
		rules("robots_disallow_card", byStar, "User-agent: *\nDisallow: /.well-known/agent-card.json\n", star, ""),
		rules("robots_disallow_legacy", "allowed_by_absence", "User-agent: *\nDisallow: /.well-known/agent.json\n", "", star),
		rules("robots_disallow_card_named", byNamed, "User-agent: BOT\nDisallow: /.well-known/agent-card\n", named, ""),
		rules("robots_bom", byStar, "\ufeffUser-agent: *\nDisallow: /\n", star, star).everything(),
		rules("robots_html_type", "allowed_by_absence", "User-agent: *\nDisallow: /private\n", "", "").with(htmlType).more("/private"),
		rules("robots_utf16", byStar, utf16LE("User-agent: *\nDisallow: /\n"), star, star).everything(),
		rules("robots_tie", "allowed_by_tie", "User-agent: *\nDisallow: /.well-known/\nAllow: /.well-known/\n", "", ""),
		noRules("robots_comment", "# nothing is forbidden here\n\n", "empty"),
		noRules("robots_text", "There are no robots in our shop.\n", "no_line"),
		noRules("robots_binary", "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR", "no_line"),
		// Rules that stand after the first 512,000 bytes are not read.
		largeRules("robots_huge", "allowed_by_rule", func() string {
			return "User-agent: *\nAllow: /\n" + strings.Repeat("Disallow: /attic/\n", 32_000) + "Disallow: /\n"
		}),
		largeRules("robots_cut", "allowed_by_absence", cutRule),
	}
}

// cutRule is a file whose 512,000th byte falls into a rule: what is left of it,
// "Disallow: /", would forbid everything, and must not count.
func cutRule() string {
	const head, cut = "User-agent: *\nAllow: /shop\n", "Disallow: /"
	var b strings.Builder
	b.WriteString(head)
	for b.Len() < robotsLimit-len(cut)-200 {
		b.WriteString("# filler filler filler filler filler filler\n")
	}
	b.WriteString("#" + strings.Repeat("-", robotsLimit-len(cut)-b.Len()-2) + "\n")
	b.WriteString(cut + "attic/\n")
	return b.String()
}

func utf16LE(s string) string {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

func rules(name, reason, file, card, legacy string) *behaviour {
	b := &behaviour{
		name: name, status: 200, header: textType,
		body:   text(file),
		robots: effect{"rules", reason, 200},
		card:   effect{"soft_404", "not_json", 200},
		denies: [2]string{card, legacy},
	}
	if strings.Contains(file, botMark+"\n") {
		b.body = func(p *plan, _, _ string) []byte { return []byte(strings.ReplaceAll(file, botMark, p.bot)) }
	}
	return b
}

// largeRules allows everything, in more bytes than are read; the file is made
// when it is first asked for.
func largeRules(name, reason string, file func() string) *behaviour {
	b := rules(name, reason, "", "", "")
	b.card = effect{"too_large", "", 200}
	made := sync.OnceValue(func() []byte { return []byte(file()) })
	b.body = func(*plan, string, string) []byte { return made() }
	return b
}

func (b *behaviour) with(header string) *behaviour {
	b.header = header
	return b
}

func (b *behaviour) withoutHome() *behaviour {
	b.deniesHome = true
	return b
}

// more adds what b disallows beyond the two card paths.
func (b *behaviour) more(denies ...string) *behaviour {
	b.deniesMore = denies
	return b
}

func (b *behaviour) everything() *behaviour { return b.more("/") }

func noRules(name, file, reason string) *behaviour {
	b := rules(name, "", file, "", "")
	b.robots = effect{"no_rules", reason, 200}
	return b
}
