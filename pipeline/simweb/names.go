package simweb

import (
	"fmt"
	"iter"
	"net/netip"
	"strings"
)

// Names yields n made-up list entries with their ranks from 1. One in 300 is no
// usable name, one in 300 the www form of an earlier entry.
func (w *Web) Names(n int) iter.Seq2[int64, string] {
	return func(yield func(int64, string) bool) {
		for rank := int64(1); rank <= int64(n); rank++ {
			if !yield(rank, w.entry(rank).name) {
				return
			}
		}
	}
}

// entry is one made-up list entry; fate is set when no crawl asks it.
type entry struct{ name, fate, reason string }

var unusable = [...]entry{
	{"_wildcard_%d.example", "invalid_name", "underscore"},
	{"%d.in-addr.arpa", "invalid_name", "not_web"},
	{"broken-%d-.example", "invalid_name", "hyphen"},
	{"192.0.2.%d", "invalid_name", "ip_literal"},
	{"printer%d.local", "invalid_name", "special_use"},
}

// entry makes the entry at a rank, from the seed and the rank alone.
func (w *Web) entry(rank int64) entry {
	h := mix(w.cfg.Seed ^ mix(uint64(rank)^fold("entry")))
	switch {
	case h%300 == 0:
		e := unusable[h/300%uint64(len(unusable))]
		number := rank
		if e.reason == "ip_literal" {
			number = rank % 254
		}
		e.name = fmt.Sprintf(e.name, number)
		return e
	case h%300 == 1 && rank > 40:
		if of := w.entry(rank - 1 - int64(h/300%40)); of.fate == "" {
			return entry{name: "www." + of.name, fate: "duplicate"}
		}
	}
	first := [...]string{"amber", "brook", "cedar", "delta", "ember", "fjord", "grove", "harbor", "inlet", "juniper", "kettle", "lumen", "meadow", "nectar", "orchard", "pebble"}
	second := [...]string{"works", "press", "market", "studio", "school", "garage", "clinic", "bakery"}
	top := "example"
	if h>>40%4 == 0 {
		top = "test"
	}
	return entry{name: fmt.Sprintf("%s-%s-%d.%s", first[h>>20%16], second[h>>30%8], rank, top)}
}

// entryFault says why a name of another list cannot be crawled. It knows the
// faults that ranking lists are known to hold, not all that a name may have.
func entryFault(name string) string {
	if _, err := netip.ParseAddr(name); err == nil {
		return "ip_literal"
	}
	if strings.HasSuffix(name, ".arpa") || name == "arpa" {
		return "not_web"
	}
	for _, label := range strings.Split(name, ".") {
		switch {
		case strings.Contains(label, "_"):
			return "underscore"
		case strings.HasPrefix(label, "-"), strings.HasSuffix(label, "-"):
			return "hyphen"
		}
	}
	return ""
}
