package robots

import (
	"cmp"
	"slices"
	"strings"
)

// rules are the allow and disallow lines of the group that applies, the longest first, and in the file's order where
// they are of one length. A file may have fifty thousand and a hundred sites may be open at once: so a rule is small,
// the texts of all lie in one, and nothing else of the file is kept.
type rules struct {
	list  []rule
	texts string
}

// rule is one line. Where its texts lie is said in bytes of the texts of all.
type rule struct {
	start, end   uint32 // the line
	pstart, pend uint32 // the pattern: normalised, runs of "*" joined; it lies in the line or follows it
	octets       uint32 // length of the normalised pattern: the longest match decides
	line         uint32 // from 1; the highest bit says that the rule allows
}

const allows = 1 << 31

func (r *rule) allow() bool { return r.line&allows != 0 }

func (r *rule) number() int { return int(r.line &^ allows) }

func (rs *rules) lineOf(r *rule) string { return rs.texts[r.start:r.end] }

func (rs *rules) patternOf(r *rule) string { return rs.texts[r.pstart:r.pend] }

// newRules reads the rules of lines of a text.
func newRules(t text, lines []ruleLine) rules {
	size := 0
	for _, l := range lines {
		size += len(t.line(int(l.index)))
	}
	var texts strings.Builder
	texts.Grow(size)
	list := make([]rule, 0, len(lines))
	for _, l := range lines {
		line := t.line(int(l.index))
		value := valueOf(line)
		normal := normalise(value, true)
		r := rule{start: uint32(texts.Len()), octets: uint32(len(normal)), line: t.lines[l.index].number}
		texts.WriteString(line)
		r.end = uint32(texts.Len())
		if l.allow {
			r.line |= allows
		}
		pattern := joinStars(normal)
		if pattern == value {
			r.pstart = r.start + uint32(strings.LastIndex(line, value))
		} else {
			r.pstart = r.end
			texts.WriteString(pattern)
		}
		r.pend = r.pstart + uint32(len(pattern))
		list = append(list, r)
	}
	return (&rules{list, texts.String()}).distinct()
}

// distinct gives the rules in their order, without those that say what an earlier line says: they never decide.
func (rs *rules) distinct() rules {
	slices.SortFunc(rs.list, func(a, b rule) int {
		return cmp.Or(cmp.Compare(b.octets, a.octets), cmp.Compare(rs.patternOf(&a), rs.patternOf(&b)),
			cmp.Compare(a.line&allows, b.line&allows), cmp.Compare(a.number(), b.number()))
	})
	list := slices.CompactFunc(rs.list, func(a, b rule) bool {
		return a.octets == b.octets && a.allow() == b.allow() && rs.patternOf(&a) == rs.patternOf(&b)
	})
	slices.SortFunc(list, func(a, b rule) int {
		return cmp.Or(cmp.Compare(b.octets, a.octets), cmp.Compare(a.number(), b.number()))
	})
	if len(list) == cap(list) {
		return rules{list, rs.texts}
	}
	return rs.only(list)
}

// only copies some of the rules, and of the texts what these need.
func (rs *rules) only(some []rule) rules {
	list, texts := make([]rule, 0, len(some)), strings.Builder{}
	for _, r := range some {
		to := uint32(texts.Len())
		texts.WriteString(rs.texts[r.start:max(r.end, r.pend)])
		list = append(list, rule{to, to + r.end - r.start, to + r.pstart - r.start, to + r.pend - r.start, r.octets, r.line})
	}
	return rules{list, texts.String()}
}

// longest finds the longest allow and the longest disallow rule that match, the earlier of two of one length; nil when
// none does. The rules are the longest first, so that a match ends the search: to try every rule that matches a path
// would cost a hostile file's size times the path's, for one question.
func (rs *rules) longest(asked target) (allow, disallow *rule) {
	best := uint32(0)
	for i := range rs.list {
		r := &rs.list[i]
		if r.octets < best {
			break
		}
		found := &disallow
		if r.allow() {
			found = &allow
		}
		if *found == nil && asked.matches(rs.patternOf(r)) {
			*found, best = r, r.octets
		}
	}
	return allow, disallow
}
