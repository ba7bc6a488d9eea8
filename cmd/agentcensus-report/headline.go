package main

import (
	"fmt"
	"strconv"
)

// tiles are the headline numbers of a report, those that it has.
func tiles(r report) []tile {
	h := func(name string) any { return r.headline.get(0, name) }
	all := []tile{
		{Label: "Cards", Value: count(h("cards")), Raw: raw(h("cards")), Of: "sites that publish an Agent Card"},
		share(h("share_of_readable"), "Share of readable sites", fmt.Sprintf("%s of %s", count(h("cards")), count(h("readable")))),
		share(h("share_of_listed"), "Share of listed sites", fmt.Sprintf("%s of %s", count(h("cards")), count(h("listed")))),
		share(h("share_1_0"), "Support A2A 1.0", fmt.Sprintf("%s of %s cards", count(h("supporting_1_0")), count(h("described")))),
		share(h("share_with_schemes"), "Declare authentication", fmt.Sprintf("%s of %s cards", count(h("with_schemes")), count(h("described")))),
		share(h("share_signed"), "Signed", fmt.Sprintf("%s of %s cards; not verified", count(h("signed")), count(h("described")))),
	}
	if h("previous_crawl") != nil {
		all = append(all, tile{Label: "New", Value: count(h("appeared")), Raw: raw(h("appeared")), Of: fmt.Sprintf("cards since %s", h("previous_crawl"))},
			tile{Label: "Gone", Value: count(h("gone")), Raw: raw(h("gone")), Of: fmt.Sprintf("cards since %s", h("previous_crawl"))})
	}
	if h("week") != nil {
		all = append(all, share(h("share_up"), "Up: an address answered",
			fmt.Sprintf("%s up, %s down of %s in the week of %s", count(h("up")), count(h("down")), count(h("publishers")), h("week"))))
	}
	known := all[:0]
	for _, t := range all {
		if t.Raw != "" {
			known = append(known, t)
		}
	}
	return known
}

func share(value any, label, of string) tile {
	return tile{Label: label, Value: cell("share", value), Raw: raw(value), Of: of}
}

// raw is a number as a program reads it; empty when it is not known.
func raw(value any) string {
	switch v := value.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}
