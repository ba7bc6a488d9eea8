package simweb

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// In the flat profile 5,000 names meet every outcome that a crawl without
// opt-outs and interruptions can have.
func TestFlatMeetsEveryOutcome(t *testing.T) {
	w := start(t, Config{Profile: Flat})
	seen := map[string]bool{}
	for rank, name := range w.Names(5000) {
		seen[w.Fate(rank, name).Outcome] = true
	}
	for o := range outcomeOrder {
		if !seen[o] && o != "opted_out" && o != "interrupted" {
			t.Errorf("no site is %s", o)
		}
	}
}

// The measured profile lies where the published counts do.
func TestMeasuredResemblesTheWeb(t *testing.T) {
	const n = 20_000
	w := start(t, Config{Seed: 7})
	share := map[string]float64{}
	for rank, name := range w.Names(n) {
		f := w.Fate(rank, name)
		key := f.Outcome
		if unanswered(f.Outcome) {
			key = "no answer"
		}
		share[key] += 1. / n
		for _, r := range f.Fetches {
			if r.Path == RobotsPath && r.Reason == "html" {
				share["html robots"] += 1. / n
			}
		}
	}
	for _, tt := range []struct {
		what     string
		from, to float64
	}{
		{"no answer", 0.10, 0.16},
		{"card", 0.002, 0.005},
		{"timeout", 0, 0}, // counted as no answer
		{"html robots", 0.05, 0.10},
		{"soft_404", 0.12, 0.25},
		{"duplicate", 0.001, 0.006},
		{"invalid_name", 0.001, 0.006},
	} {
		if s := share[tt.what]; s < tt.from || s > tt.to {
			t.Errorf("%s: %.4f of all sites, want %.4f to %.4f", tt.what, s, tt.from, tt.to)
		}
	}
	refused := share["auth_required"] + share["challenged"] + share["rate_limited"] + share["robots_unreadable"] + share["robots_unreachable"]
	if refused < 0.08 || refused > 0.18 {
		t.Errorf("%.3f of all sites refuse a bot", refused)
	}
}

func TestShares(t *testing.T) {
	w := start(t, Config{Profile: Plain, DeadShare: 0.15, CardShare: 0.5})
	dead, cards := 0, 0
	for rank, name := range w.Names(4000) {
		switch f := w.Fate(rank, name); {
		case f.Outcome == "timeout":
			dead++
		case f.Card != nil:
			cards++
		}
	}
	if dead < 500 || dead > 700 || cards < 1550 || cards > 1850 {
		t.Errorf("of 4000 sites %d are dead and %d have a card", dead, cards)
	}
}

func TestFateFollowsSeedAndName(t *testing.T) {
	a, b, c := start(t, Config{Seed: 1}), start(t, Config{Seed: 1}), start(t, Config{Seed: 2})
	differ := 0
	for rank, name := range a.Names(500) {
		if d := cmp.Diff(a.Fate(rank, name), b.Fate(rank, name)); d != "" {
			t.Fatalf("%s: two webs of one seed differ: %s", name, d)
		}
		if !cmp.Equal(a.Fate(rank, name), c.Fate(rank, name)) {
			differ++
		}
	}
	if differ < 250 {
		t.Errorf("only %d of 500 fates differ under another seed", differ)
	}
}

// The fates of a few topologies, written out.
func TestFateCountsRequests(t *testing.T) {
	const lost, moved, home = int64(len(lostPage)), int64(len(movedPage)), int64(len(homePage))
	do := func(s string) *Play { return &Play{Do: s} }
	for _, tt := range []struct {
		name string
		site ScenarioSite
		want []FetchFate
	}{
		{
			"apex to www", ScenarioSite{Move: "all", Robots: do("robots_allow_all"), Card: do("not_found"), Legacy: do("gone")},
			[]FetchFate{
				{RobotsPath, "rules", "allowed_by_absence", 200, 2, moved + 24},
				{CardPath, "not_found", "", 404, 2, moved + lost},
				{LegacyPath, "not_found", "", 410, 2, moved + lost},
			},
		},
		{
			"www has robots.txt of its own", ScenarioSite{Move: "cards", Robots: do("robots_allow_all")},
			[]FetchFate{
				{RobotsPath, "rules", "allowed_by_absence", 200, 1, 24},
				{RobotsPath, "rules", "allowed_by_absence", 200, 1, 24},
				{CardPath, "not_found", "", 404, 2, moved + lost},
				{LegacyPath, "not_found", "", 404, 2, moved + lost},
			},
		},
		{
			"www forbids", ScenarioSite{Move: "forbidden"},
			[]FetchFate{
				{RobotsPath, "no_rules", "status_404", 404, 1, lost},
				{RobotsPath, "rules", byStar, 200, 1, 26},
				{CardPath, "redirect_refused", "robots_disallowed", 301, 1, moved},
				{LegacyPath, "redirect_refused", "robots_disallowed", 301, 1, moved},
			},
		},
		{
			"both paths redirect to the home page", ScenarioSite{Card: do("redirect_home"), Legacy: do("redirect_home")},
			[]FetchFate{
				{RobotsPath, "no_rules", "status_404", 404, 1, lost},
				{CardPath, "soft_404", "html", 200, 2, home},
				{LegacyPath, "soft_404", "html", 200, 1, 0},
			},
		},
		{
			"a home page that is disallowed", ScenarioSite{Robots: do("robots_well_known_allow"), Card: do("redirect_home")},
			[]FetchFate{
				{RobotsPath, "rules", "allowed_by_rule", 200, 1, 47},
				{CardPath, "redirect_refused", "robots_disallowed", 302, 1, 0},
				{LegacyPath, "not_found", "", 404, 1, lost},
			},
		},
		{
			"a maze behind www", ScenarioSite{Move: "all", Card: do("redirect_maze"), Legacy: do("rate_limited")},
			[]FetchFate{
				{RobotsPath, "no_rules", "status_404", 404, 2, moved + lost},
				{CardPath, "redirect_refused", "too_many", 302, 4, moved},
				{LegacyPath, "rate_limited", "", 429, 2, moved + 10},
			},
		},
		{
			"429 ends the site", ScenarioSite{Card: do("rate_limited"), Legacy: do("card_v1")},
			[]FetchFate{{RobotsPath, "no_rules", "status_404", 404, 1, lost}, {CardPath, "rate_limited", "", 429, 1, 10}},
		},
		{
			"silence ends the site", ScenarioSite{Card: do("silent"), Legacy: do("card_v1")},
			[]FetchFate{{RobotsPath, "no_rules", "status_404", 404, 1, lost}, {CardPath, "timeout", "headers", 0, 1, 0}},
		},
		{
			"a closed robots.txt ends the site", ScenarioSite{Robots: do("unavailable"), Card: do("card_v1")},
			[]FetchFate{{RobotsPath, "robots_unreachable", "status_503", 503, 1, 36}},
		},
		{
			"one path is disallowed", ScenarioSite{Robots: do("robots_disallow_card_named"), Card: do("card_v1")},
			[]FetchFate{
				{RobotsPath, "rules", byNamed, 200, 1, 58},
				{CardPath, "robots_disallowed", "named_group", 0, 0, 0},
				{LegacyPath, "not_found", "", 404, 1, lost},
			},
		},
		{"no such name", ScenarioSite{DNS: "nxdomain"}, nil},
		{"refused", ScenarioSite{Link: "refused"}, []FetchFate{{RobotsPath, "connect_refused", "refused", 0, 0, 0}}},
		{"bad certificate", ScenarioSite{TLS: "expired"}, []FetchFate{{RobotsPath, "tls_certificate", "expired", 0, 0, 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := oneSite(t, tt.site)
			if d := cmp.Diff(tt.want, w.Fate(1, "site.example").Fetches); d != "" {
				t.Errorf("fetches (-want +got):\n%s", d)
			}
		})
	}
}

// A disallowed path decides a site only when nothing was asked.
func TestDecide(t *testing.T) {
	row := func(path, outcome string) FetchFate { return FetchFate{Path: path, Outcome: outcome} }
	for _, tt := range []struct {
		first, second, want string
	}{
		{"robots_disallowed", "robots_disallowed", "robots_disallowed"},
		{"robots_disallowed", "timeout", "timeout"},
		{"not_found", "robots_disallowed", "not_found"},
		{"not_found", "soft_404", "soft_404"},
		{"soft_404", "not_found", "soft_404"},
		{"not_found", "connection_lost", "not_found"},
		{"near_card", "card", "card"},
	} {
		got, _ := decide([]FetchFate{row(RobotsPath, "rules"), row(CardPath, tt.first), row(LegacyPath, tt.second)})
		if got != tt.want {
			t.Errorf("%s and %s: %s, want %s", tt.first, tt.second, got, tt.want)
		}
	}
}

// A template is JSON that says what stands beside it, also when it is padded
// and changed.
func TestTemplatesSayTheirFacts(t *testing.T) {
	for _, tpl := range templates() {
		for _, change := range []string{"", "body", "version", "skill_added", "skill_removed", "signed"} {
			p := &plan{base: "a.example", seed: 5, change: change, since: 2, pad: 4096}
			body, f := p.card(tpl, "www.a.example")
			var got struct {
				Name, Description, Version string
				Skills                     []struct{ ID string }
				Signatures                 []any
			}
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatalf("%s, %s: %v", tpl.name, change, err)
			}
			var ids []string
			for _, s := range got.Skills {
				ids = append(ids, s.ID)
			}
			if got.Name != f.Name || got.Description != f.Description || got.Version != f.Version || !slices.Equal(ids, f.SkillIDs) {
				t.Errorf("%s, %s: says %+v, facts %+v", tpl.name, change, got, f)
			}
			if len(got.Signatures) != f.Signatures || f.Signed != (f.Signatures > 0) {
				t.Errorf("%s, %s: %d signatures, facts say %d", tpl.name, change, len(got.Signatures), f.Signatures)
			}
			for _, in := range f.Interfaces {
				if !strings.Contains(string(body), `"`+in.URL+`"`) {
					t.Errorf("%s: no interface %s", tpl.name, in.URL)
				}
			}
			if len(body) < 4096 {
				t.Errorf("%s: %d bytes", tpl.name, len(body))
			}
			if change == "" && strings.Count(string(body), "HOST") > 0 {
				t.Errorf("%s: a mark is left in %s", tpl.name, body)
			}
		}
	}
}

// Between epochs every kind of change happens to some publisher, and each shows
// in the fate as its name says.
func TestEpochsChangePublishers(t *testing.T) {
	w := start(t, Config{Profile: Plain, CardShare: 0.5})
	seen := map[string]int{}
	for rank, name := range w.Names(3000) {
		before, after := w.FateAt(0, rank, name), w.FateAt(3, rank, name)
		seen[after.Change]++
		b, a := before.Card, after.Card
		ok := true
		switch after.Change {
		case "":
			ok = cmp.Equal(before, after)
		case "appeared":
			ok = b == nil && a != nil
		case "gone":
			ok = b != nil && a == nil && after.Outcome == "not_found"
		case "down":
			ok = b != nil && after.Outcome == "server_error"
		case "version":
			ok = a.Version != b.Version && a.Description == b.Description
		case "body":
			ok = a.Description != b.Description && a.SHA256 != b.SHA256
		case "skill_added":
			ok = len(a.SkillIDs) == len(b.SkillIDs)+1
		case "skill_removed":
			ok = len(a.SkillIDs) == len(b.SkillIDs)-1
		case "signed":
			ok = a.Signed && !b.Signed
		}
		if !ok {
			t.Errorf("%s: %q, but before %+v and after %+v", name, after.Change, before, after)
		}
	}
	for _, c := range []string{"", "appeared", "gone", "down", "version", "body", "skill_added", "skill_removed", "signed"} {
		if seen[c] == 0 {
			t.Errorf("no site %q in %v", c, seen)
		}
	}
	w.SetEpoch(3)
	for rank, name := range w.Names(50) {
		if !cmp.Equal(w.Fate(rank, name), w.FateAt(3, rank, name)) {
			t.Errorf("%s: the web is not at the epoch it was set to", name)
		}
	}
}

func TestNamesHoldOddEntries(t *testing.T) {
	w := start(t, Config{})
	ranks := map[string]int64{}
	duplicates, invalid := 0, 0
	for rank, name := range w.Names(6000) {
		if _, ok := ranks[name]; ok {
			t.Errorf("%s is there twice", name)
		}
		ranks[name] = rank
		switch w.Fate(rank, name).Outcome {
		case "duplicate":
			duplicates++
			if of, ok := ranks[strings.TrimPrefix(name, "www.")]; !ok || of >= rank {
				t.Errorf("%s at %d is no duplicate", name, rank)
			}
		case "invalid_name":
			invalid++
		}
	}
	if duplicates == 0 || invalid == 0 {
		t.Errorf("%d duplicates, %d invalid names", duplicates, invalid)
	}
}

func TestInvalidNamesOfOtherLists(t *testing.T) {
	w := start(t, Config{})
	for name, reason := range map[string]string{
		"_wildcard_.ph": "underscore", "ip6.arpa": "not_web", "ends-.example": "hyphen", "192.0.2.1": "ip_literal",
	} {
		if f := w.Fate(9, name); f.Outcome != "invalid_name" || f.Reason != reason {
			t.Errorf("%s: %s, %s", name, f.Outcome, f.Reason)
		}
	}
}

func TestTruthAddsUp(t *testing.T) {
	w := start(t, Config{Profile: Flat})
	truth := NewTruth()
	for rank, name := range w.Names(1200) {
		truth.Add(rank, w.Fate(rank, name))
	}
	var sites, ranked int64
	for k, n := range truth.Sites() {
		sites += n
		if k.From == 101 && k.To == 500 {
			ranked += n
		}
	}
	if sites != 1200 || truth.Entries() != 1200 || ranked != 400 {
		t.Errorf("%d sites, %d of them ranked 101 to 500", sites, ranked)
	}
	for k, s := range truth.Fetches() {
		if s.Fetches < 1 || s.Requests < 0 {
			t.Errorf("%+v: %+v", k, s)
		}
	}
	if len(truth.Cards()) == 0 {
		t.Error("no cards")
	}
}

func TestRankRanges(t *testing.T) {
	for rank, want := range map[int64][2]int64{
		1: {1, 100}, 100: {1, 100}, 101: {101, 500}, 501: {501, 1000}, 1001: {1001, 5000},
		100_001: {100_001, 500_000}, 1_000_000: {500_001, 1_000_000}, 1_000_001: {1_000_001, 5_000_000},
	} {
		if from, to := rankRange(rank); from != want[0] || to != want[1] {
			t.Errorf("rank %d: %d to %d, want %v", rank, from, to, want)
		}
	}
}

// What profiles and publishers choose from exists.
func TestChoicesExist(t *testing.T) {
	all := newCatalogue()
	lists := [][]choice{open, published}
	for name, p := range profiles {
		lists = append(lists, p.robots, p.answer)
		for _, f := range p.faults {
			kind, what, _ := strings.Cut(f.name, ":")
			_, dns := nameServices[what]
			_, link := links[what]
			_, shake := handshakes[what]
			if !(kind == "dns" && dns || kind == "link" && link || kind == "tls" && shake) {
				t.Errorf("%s: no fault %s", name, f.name)
			}
		}
		for _, m := range p.moves {
			if _, ok := topologies[m.name]; !ok {
				t.Errorf("%s: no move %s", name, m.name)
			}
		}
	}
	for _, l := range lists {
		for _, c := range l {
			if all[c.name] == nil {
				t.Errorf("no behaviour %s", c.name)
			}
		}
	}
}

// Every effect is a word of the vocabulary.
func TestEffectsAreOutcomes(t *testing.T) {
	all := newCatalogue()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b := all[name]
		if _, ok := outcomeOrder[b.card.outcome]; !ok {
			t.Errorf("%s: card outcome %q", name, b.card.outcome)
		}
		if _, ok := outcomeOrder[b.robots.outcome]; !ok && b.robots.outcome != "rules" && b.robots.outcome != "no_rules" {
			t.Errorf("%s: robots outcome %q", name, b.robots.outcome)
		}
	}
}
