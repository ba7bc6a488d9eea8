package simweb

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// CardFacts is what a card says, stated beside its template and never read back
// from the JSON.
type CardFacts struct {
	Rule        string // by which it is a card: "R1" to "R6"
	Name        string
	Description string
	Version     string // the agent's own
	Provider    string // organisation; "" when none
	A2AVersion  string // "1.0", "0.3", ... or "unknown"
	Source      string // of A2AVersion: "interface", "card", "shape" or "none"
	Shape       string // "1.x", "union" or "0.x"
	Interfaces  []InterfaceFacts
	SkillIDs    []string // in order; their number is the number of skills
	SchemeTypes []string // distinct, in alphabetical order
	// Capabilities are nil where the card does not say.
	Streaming, PushNotifications, StateTransitionHistory, ExtendedCard *bool
	Signed                                                             bool
	Signatures                                                         int

	// Of the answer.
	Path         string // as first asked
	CardURL      string // after redirects
	ContentType  string
	CacheControl string
	ETag         string
	BodyBytes    int64
	SHA256       string // of the body, hex
}

// InterfaceFacts is one interface of a card, in the order of the census:
// supportedInterfaces, then url, then additionalInterfaces, without repeats.
type InterfaceFacts struct {
	URL     string
	Binding string // JSONRPC, GRPC or HTTP+JSON; "" when the card does not say
	Version string // as the interface declares it; "" when it does not
}

// template is one card with its facts. In body, NAME, TEXT, VERSION, HOST,
// SKILLS and MORE stand for what differs from site to site; in the facts, the
// host stands for HOST in URLs.
type template struct {
	name     string
	body     string
	skills   []skill
	facts    CardFacts
	signable bool // a signature changes nothing else that is known of the card
}

type skill struct{ id, json string }

var (
	yes = boolean(true)
	no  = boolean(false)
)

func boolean(b bool) *bool { return &b }

// The values of a site's card.
type cardValues struct {
	name, text, version, host string
	skills                    []skill
	signed                    bool
}

const laterSkill = `{"id":"later","name":"Later","description":"Came after the others","tags":["new"]}`

// signature is laid out like a JWS of ES256; it was made by nobody's key.
var signature = `"signatures":[{"protected":"eyJhbGciOiJFUzI1NiIsImtpZCI6ImsxIiwidHlwIjoiSk9TRSJ9","signature":"` +
	strings.Repeat("A", 86) + `"}]`

// card makes a site's card from a template, with its facts.
func (p *plan) card(t *template, host string) ([]byte, CardFacts) {
	v := cardValues{
		name: "Agent of " + p.base, text: "Keeps the lamps lit, even “upside down”.", version: fmt.Sprintf("1.%d.0", p.hash("version")%20),
		host: host, skills: t.skills,
	}
	switch p.change {
	case "body":
		v.text = fmt.Sprintf("Keeps the lamps lit and the glass clean, as of epoch %d.", p.since)
	case "version":
		v.version = fmt.Sprintf("2.%d.0", p.since)
	case "skill_added":
		if len(t.skills) > 0 {
			v.skills = append(v.skills[:len(v.skills):len(v.skills)], skill{"later", laterSkill})
		}
	case "skill_removed":
		if len(v.skills) > 0 {
			v.skills = v.skills[:len(v.skills)-1]
		}
	case "signed":
		v.signed = t.signable
	}
	body, facts := t.render(v, p.pad)
	sum := sha256.Sum256(body)
	facts.SHA256 = hex.EncodeToString(sum[:])
	facts.ContentType, facts.CacheControl, facts.ETag = "application/json", "public, max-age=3600", `"sim-1"`
	return body, facts
}

// cardHeader is sent with every card.
const cardHeader = jsonType + "Cache-Control: public, max-age=3600\r\nETag: \"sim-1\"\r\n"

func (t *template) render(v cardValues, pad int) ([]byte, CardFacts) {
	f := t.facts
	f.Name, f.Description, f.Version = v.name, v.text, v.version
	var skills, more []string
	f.SkillIDs = nil
	for _, s := range v.skills {
		skills = append(skills, s.json)
		f.SkillIDs = append(f.SkillIDs, s.id)
	}
	if v.signed {
		more = append(more, signature)
		f.Signed, f.Signatures = true, f.Signatures+1
	}
	fill := func(more []string) string {
		tail := ""
		for _, m := range more {
			tail += "," + m
		}
		return strings.NewReplacer("NAME", v.name, "TEXT", v.text, "VERSION", v.version, "HOST", v.host,
			"SKILLS", strings.Join(skills, ","), "MORE", tail).Replace(t.body)
	}
	body := fill(more)
	if missing := pad - len(body); missing > 0 {
		body = fill(append(more, `"x-notes":"`+strings.Repeat("lamp ", missing/5+1)+`"`))
	}
	f.Interfaces = make([]InterfaceFacts, len(t.facts.Interfaces))
	for i, in := range t.facts.Interfaces {
		in.URL = strings.ReplaceAll(in.URL, "HOST", v.host)
		f.Interfaces[i] = in
	}
	return []byte(body), f
}

// cardAnswers serve the templates, and the first of them in unusual ways.
func cardAnswers() []*behaviour {
	var out []*behaviour
	serve := func(name string, t *template) *behaviour {
		return &behaviour{
			name: name, status: 200, header: cardHeader, template: t,
			body:   func(p *plan, host, _ string) []byte { body, _ := p.card(t, host); return body },
			card:   effect{"card", t.facts.Rule, 200},
			robots: effect{"no_rules", "no_line", 200},
		}
	}
	for _, t := range templates() {
		out = append(out, serve("card_"+t.name, t))
	}
	first := out[0].template
	packed := serve("card_gzip", first)
	packed.play = func(x *exchange) bool {
		body, _ := x.plan.card(first, x.host)
		small, err := gzipped(strings.NewReader(string(body)))
		if err != nil {
			x.web.note(fmt.Errorf("simweb: card_gzip: %w", err))
			return false
		}
		return x.reply(200, cardHeader+"Content-Encoding: gzip\r\n", small)
	}
	chunked := serve("card_chunked", first)
	chunked.play = func(x *exchange) bool {
		body, _ := x.plan.card(first, x.host)
		half := len(body) / 2
		return x.some(fmt.Appendf(x.head(200, cardHeader), "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", half, body[:half])) &&
			x.last(fmt.Appendf(nil, "%x;sim=1\r\n%s\r\n0\r\nX-Trailer: 1\r\n\r\n", len(body)-half, body[half:]))
	}
	// Without the header that names a version the answer is an error (A2A
	// specification, section 3.6.2: an absent header means 0.3).
	picky := serve("card_needs_version", first)
	picky.play = func(x *exchange) bool {
		if v := x.header.Get("A2A-Version"); v != "1.0" {
			return x.reply(400, jsonType, []byte(`{"code":-32009,"message":"say which version you speak"}`))
		}
		body, _ := x.plan.card(first, x.host)
		return x.reply(200, cardHeader+"Vary: A2A-Version\r\n", body)
	}
	return append(out, packed, chunked, picky)
}
