package sink

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatChangedSinceTheCrawlBefore(t *testing.T) {
	base := Card{BodySHA256: "b1", CanonSHA256: "c1", AgentVersion: ptr("1"), A2AVersion: "0.3",
		Skills: []Skill{{ID: ptr("a")}, {Name: ptr("Named")}, {}, {ID: ptr("a")}}}
	other := func(change func(*Card)) *Card {
		card := base
		change(&card)
		return &card
	}
	same := Check{CardAppeared: ptr(false), CardGone: ptr(false), BodyChanged: ptr(false), CanonicalChanged: ptr(false),
		AgentVersionChanged: ptr(false), AgentVersionBefore: ptr("1"), AgentVersionAfter: ptr("1"),
		A2AVersionChanged: ptr(false), A2AVersionBefore: ptr("0.3"), A2AVersionAfter: ptr("0.3"),
		SkillsAdded: []string{}, SkillsRemoved: []string{}, SignatureAdded: ptr(false), SignatureRemoved: ptr(false)}
	but := func(change func(*Check)) Check {
		check := same
		change(&check)
		return check
	}
	for _, test := range []struct {
		name          string
		before, after *Card
		want          Check
	}{
		{"nothing", &base, &base, same},
		{"no card, then or now", nil, nil, Check{CardAppeared: ptr(false), CardGone: ptr(false)}},
		{"a card appeared", nil, &base, Check{CardAppeared: ptr(true), CardGone: ptr(false), AgentVersionAfter: ptr("1"), A2AVersionAfter: ptr("0.3")}},
		{"the card is gone", &base, nil, Check{CardAppeared: ptr(false), CardGone: ptr(true), AgentVersionBefore: ptr("1"), A2AVersionBefore: ptr("0.3")}},
		{"the layout", &base, other(func(c *Card) { c.BodySHA256 = "b2" }), but(func(c *Check) { c.BodyChanged = ptr(true) })},
		{"the content", &base, other(func(c *Card) { c.CanonSHA256 = "c2" }), but(func(c *Check) { c.CanonicalChanged = ptr(true) })},
		{"the agent's version", &base, other(func(c *Card) { c.AgentVersion = ptr("2") }), but(func(c *Check) {
			c.AgentVersionChanged, c.AgentVersionAfter = ptr(true), ptr("2")
		})},
		{"the agent's version is no longer stated", &base, other(func(c *Card) { c.AgentVersion = nil }), but(func(c *Check) {
			c.AgentVersionChanged, c.AgentVersionAfter = ptr(true), nil
		})},
		{"the A2A version", &base, other(func(c *Card) { c.A2AVersion = "1.0" }), but(func(c *Check) {
			c.A2AVersionChanged, c.A2AVersionAfter = ptr(true), ptr("1.0")
		})},
		{"skills", &base, other(func(c *Card) {
			c.Skills = []Skill{{ID: ptr("z")}, {ID: ptr("m")}, {ID: ptr("a"), Name: ptr("New name")}}
		}), but(func(c *Check) {
			c.SkillsAdded, c.SkillsRemoved = []string{"m", "z"}, []string{"Named"}
		})},
		{"signed", &base, other(func(c *Card) { c.Signed = true }), but(func(c *Check) { c.SignatureAdded = ptr(true) })},
		{"no longer signed", other(func(c *Card) { c.Signed = true }), &base, but(func(c *Check) { c.SignatureRemoved = ptr(true) })},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got Check
			got.Compare(test.before, test.after)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestTheCrawlBefore(t *testing.T) {
	var check Check
	if err := check.Previous("monthly", "2026-12-01"); err != nil || *check.PreviousCrawl != 20788 || *check.PreviousKind != "monthly" {
		t.Errorf("%v, %v", check.PreviousCrawl, err)
	}
	if err := check.Previous("monthly", "December"); err == nil {
		t.Error("December is taken for a date")
	}
}
