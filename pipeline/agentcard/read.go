package agentcard

import (
	"slices"
	"strings"
)

// Kind is the class of a body.
type Kind string

// The classes of a body.
const (
	Is   Kind = "card"
	Near Kind = "near" // evidently meant as a card, yet of no use to a client
	Not  Kind = "not"
)

// Verdict says what a body is.
type Verdict struct {
	Kind Kind
	// Reason is the rule that made it a card ("R1" to "R6"), "partial" for a near
	// card, and for anything else the mark that gave it away.
	Reason string
	// Detail says why an "invalid_json" body is none; "" otherwise.
	Detail string
	// Offset is the byte of the UTF-8 text at which Detail was noticed.
	Offset int
}

// Read decides what body is and, for a card or a near card, reads its facts; of
// anything else the Card is empty. The media type a body was served with does
// not matter: static hosts send cards as text or as octets. The caller limits
// the size of body; Read takes time and memory proportional to it.
func Read(body []byte) (Verdict, Card) {
	txt, encoding, valid := decodeText(body)
	start := strings.IndexFunc(txt, func(r rune) bool { return r > ' ' || !isSpace(byte(r)) })
	switch {
	case start < 0:
		return Verdict{Kind: Not, Reason: ReasonEmpty}, Card{}
	case txt[start] == '<':
		return Verdict{Kind: Not, Reason: ReasonHTML}, Card{}
	}
	jsonLike := txt[start] == '{' || txt[start] == '['
	if !valid {
		if !jsonLike {
			return Verdict{Kind: Not, Reason: ReasonNotJSON}, Card{}
		}
		return Verdict{Kind: Not, Reason: ReasonInvalidJSON, Detail: detailEncoding,
			Offset: max(0, strings.IndexRune(txt, '\ufffd'))}, Card{}
	}
	v, duplicates, err := parseJSON(txt)
	switch {
	case err != nil && jsonLike:
		return Verdict{Kind: Not, Reason: ReasonInvalidJSON, Detail: err.detail, Offset: err.offset}, Card{}
	case err != nil:
		return Verdict{Kind: Not, Reason: ReasonNotJSON}, Card{}
	}
	verdict := judge(&v)
	if verdict.Kind == Not {
		return verdict, Card{}
	}
	c := readCard(&v, txt)
	c.warn(&v, encoding, duplicates)
	return verdict, c
}

// readCard reads the facts of an object from its text.
func readCard(o *value, txt string) Card {
	c := Card{
		Name:             o.get("name").str(),
		Description:      o.get("description").str(),
		Version:          o.get("version").label(),
		DocumentationURL: o.get("documentationUrl").str(),
		IconURL:          o.get("iconUrl").str(),
		Provider:         readProvider(o.get("provider")),
		InputModes:       o.get("defaultInputModes").strs(),
		OutputModes:      o.get("defaultOutputModes").strs(),
		CanonicalSHA256:  canonicalHash(o, len(txt)),
		BodyUTF8:         txt,
	}
	c.readVersion(o)
	c.readInterfaces(o)
	c.readCapabilities(o)
	c.readSkills(o.get("skills"))
	c.readSchemes(o.get("securitySchemes"))
	c.LegacyAuthSchemes = readLegacyAuth(o.get("authentication"))
	c.readRequirements(o)
	c.readSignatures(o.get("signatures"))
	return c
}

// readProvider accepts {"name": ...} and a plain text besides the specified
// {"organization": ...}.
func readProvider(v *value) Provider {
	if s := v.str(); s != "" {
		return Provider{Organization: s, From: "string"}
	}
	p := Provider{URL: v.get("url").str()}
	for _, key := range []string{"organization", "name"} {
		if s := v.get(key).str(); s != "" {
			p.Organization, p.From = s, key
			break
		}
	}
	return p
}

func (c *Card) readCapabilities(o *value) {
	v := o.get("capabilities")
	c.Capabilities = Capabilities{
		Streaming:              v.get("streaming").truth(),
		PushNotifications:      v.get("pushNotifications").truth(),
		StateTransitionHistory: v.get("stateTransitionHistory").truth(),
	}
	// The extended card's flag moved twice: 0.2.1, a draft of December 2025, 1.0.
	for _, flag := range []*value{
		v.get("extendedAgentCard"),
		o.get("supportsAuthenticatedExtendedCard"),
		o.get("supportsExtendedAgentCard"),
	} {
		if b := flag.truth(); b != nil && (c.Capabilities.ExtendedCard == nil || *b) {
			c.Capabilities.ExtendedCard = b
		}
	}
	for _, m := range v.get("extensions").items() {
		switch m.kind {
		case object:
			c.Extensions = append(c.Extensions, Extension{
				URI:         m.get("uri").str(),
				Description: m.get("description").str(),
				Required:    m.get("required").truth(),
			})
		case text:
			c.Extensions = append(c.Extensions, Extension{URI: m.text})
		}
	}
}

func (c *Card) readSkills(v *value) {
	switch v.kind {
	case absent:
		c.SkillsKind = SkillsAbsent
	case null:
		c.SkillsKind = SkillsNull
	case list:
		c.SkillsKind = SkillsArray
	default:
		c.SkillsKind = SkillsOther
	}
	c.SkillsCount = len(v.items())
	c.Skills = slices.Grow(c.Skills, c.SkillsCount)
	for _, m := range v.items() {
		switch m.kind {
		case object:
			c.Skills = append(c.Skills, Skill{
				ID:   m.get("id").label(),
				Name: m.get("name").str(),
				Tags: m.get("tags").strs(),
			})
		case text:
			c.Skills = append(c.Skills, Skill{Name: m.text})
		}
	}
}
