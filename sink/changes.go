package sink

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Compare fills the change columns of c with what differs between the card of
// the crawl before and that of this one. Call it only when HTTP answers decided
// both: nil says that an answer brought no card.
func (c *Check) Compare(before, after *Card) {
	c.CardAppeared = new(before == nil && after != nil)
	c.CardGone = new(before != nil && after == nil)
	if before != nil {
		c.AgentVersionBefore, c.A2AVersionBefore = before.AgentVersion, &before.A2AVersion
	}
	if after != nil {
		c.AgentVersionAfter, c.A2AVersionAfter = after.AgentVersion, &after.A2AVersion
	}
	if before == nil || after == nil {
		return
	}
	c.BodyChanged = new(before.BodySHA256 != after.BodySHA256)
	c.CanonicalChanged = new(before.CanonSHA256 != after.CanonSHA256)
	c.AgentVersionChanged = new(differ(before.AgentVersion, after.AgentVersion))
	c.A2AVersionChanged = new(before.A2AVersion != after.A2AVersion)
	c.SkillsAdded = missing(skillNames(after), skillNames(before))
	c.SkillsRemoved = missing(skillNames(before), skillNames(after))
	c.SignatureAdded = new(after.Signed && !before.Signed)
	c.SignatureRemoved = new(before.Signed && !after.Signed)
}

// Previous names the crawl that [Check.Compare] compares with; crawl is its
// start date, YYYY-MM-DD.
func (c *Check) Previous(kind, crawl string) error {
	date, err := time.Parse(time.DateOnly, crawl)
	if err != nil {
		return fmt.Errorf("naming the crawl before: %w", err)
	}
	c.PreviousKind = &kind
	c.PreviousCrawl = new(int32(date.Unix() / int64(24*time.Hour/time.Second)))
	return nil
}

// differ says whether two texts differ; NULL equals NULL alone.
func differ(a, b *string) bool {
	if a == nil || b == nil {
		return a != b
	}
	return *a != *b
}

// skillNames returns the IDs of the skills, the name where one has no ID.
func skillNames(card *Card) map[string]bool {
	names := make(map[string]bool)
	for _, skill := range card.Skills {
		if name := cmp.Or(skill.ID, skill.Name); name != nil {
			names[*name] = true
		}
	}
	return names
}

// missing returns, sorted, what is in from but not in other; never nil, since
// nil would be NULL.
func missing(from, other map[string]bool) []string {
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if !other[name] {
			names = append(names, name)
		}
	}
	return names
}
