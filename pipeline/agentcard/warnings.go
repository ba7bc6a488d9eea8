package agentcard

import (
	"slices"
	"strings"
)

// Warnings about the text; the others are built from the names of fields.
const (
	warnBOM        = "byte_order_mark"
	warnUTF16      = "utf16"
	warnUTF32      = "utf32"
	warnDuplicates = "duplicate_keys"
)

// field is what the released specifications say of one field. The zero protocol
// as first means that no release has it.
type field struct {
	name        string
	kind        jsonKind
	items       jsonKind // of a list's items
	first, last protocol // releases that have the field
	required    protocol // first release that requires it, zero for none
	// dropped: ProtoJSON leaves an empty value out, so that 1.0 cards may lack the
	// field though it is required (a2aproject/a2a-python#1261).
	dropped bool
}

// cardFields are the fields of a card, from the JSON schemas of 0.1.0 to 0.3.0
// and the protocol buffers of 1.0.
var cardFields = []field{
	{name: "name", kind: text, first: protocol01, last: protocol10, required: protocol01},
	{name: "description", kind: text, first: protocol01, last: protocol10, required: protocol02},
	{name: "version", kind: text, first: protocol01, last: protocol10, required: protocol01},
	{name: "url", kind: text, first: protocol01, last: protocol03, required: protocol01},
	// Required from 0.2.5 on; an older 0.2 card cannot be told from one that forgot it.
	{name: "protocolVersion", kind: text, first: protocol02, last: protocol03, required: protocol03},
	{name: "provider", kind: object, first: protocol01, last: protocol10},
	{name: "documentationUrl", kind: text, first: protocol01, last: protocol10},
	{name: "iconUrl", kind: text, first: protocol02, last: protocol10},
	{name: "capabilities", kind: object, first: protocol01, last: protocol10, required: protocol01, dropped: true},
	{name: "authentication", kind: object, first: protocol01, last: protocol01},
	{name: "securitySchemes", kind: object, first: protocol02, last: protocol10},
	{name: "security", kind: list, items: object, first: protocol02, last: protocol03},
	{name: "securityRequirements", kind: list, items: object, first: protocol10, last: protocol10},
	{name: "defaultInputModes", kind: list, items: text, first: protocol01, last: protocol10, required: protocol02, dropped: true},
	{name: "defaultOutputModes", kind: list, items: text, first: protocol01, last: protocol10, required: protocol02, dropped: true},
	{name: "skills", kind: list, items: object, first: protocol01, last: protocol10, required: protocol01, dropped: true},
	{name: "supportsAuthenticatedExtendedCard", kind: boolean, first: protocol02, last: protocol03},
	{name: "preferredTransport", kind: text, first: protocol02, last: protocol03},
	{name: "additionalInterfaces", kind: list, items: object, first: protocol02, last: protocol03},
	{name: "signatures", kind: list, items: object, first: protocol03, last: protocol10},
	{name: "supportedInterfaces", kind: list, items: object, first: protocol10, last: protocol10, required: protocol10},
	{name: "protocolVersions", kind: list, items: text}, // draft of January 2026
	{name: "supportsExtendedAgentCard", kind: boolean},  // draft of December 2025
}

// capabilityFields are the fields of capabilities.
var capabilityFields = []field{
	{name: "streaming", kind: boolean, first: protocol01, last: protocol10},
	{name: "pushNotifications", kind: boolean, first: protocol01, last: protocol10},
	{name: "stateTransitionHistory", kind: boolean, first: protocol01, last: protocol03},
	{name: "extensions", kind: list, items: object, first: protocol02, last: protocol10},
	{name: "extendedAgentCard", kind: boolean, first: protocol10, last: protocol10},
}

// checker gathers the conformance codes of one card.
type checker struct {
	// release is the generation the card is held to: 1.0 for cards with
	// supportedInterfaces; for others the version they declare or have the shape of,
	// at most 0.3, and 0.2 when nothing tells (0.3 would require protocolVersion).
	release protocol
	union   bool // fields of 0.3 are in place as well
	codes   map[string]struct{}
}

func (k *checker) warn(code string) { k.codes[code] = struct{}{} }

// warn fills the card's warnings; the other facts are there already.
func (c *Card) warn(o *value, encoding string, duplicates bool) {
	k := checker{release: c.release(), union: c.Shape == ShapeUnion, codes: make(map[string]struct{})}
	if encoding != "" {
		k.warn(encoding)
	}
	if duplicates {
		k.warn(warnDuplicates)
	}
	k.fields(o, cardFields)
	k.fields(o.get("capabilities"), capabilityFields)
	k.interfaces(o, c.Interfaces)
	k.skills(o.get("skills"))
	k.provider(o.get("provider"))
	k.security(c)
	for code := range k.codes {
		c.Warnings = append(c.Warnings, code)
	}
	slices.Sort(c.Warnings)
}

func (c *Card) release() protocol {
	if c.Shape != Shape0x {
		return protocol10
	}
	p, ok := parseProtocol(c.A2AVersion)
	switch {
	case !ok:
		return protocol02
	case protocol03.less(p):
		return protocol03
	}
	return p
}

func (k *checker) fields(o *value, fields []field) {
	for _, f := range fields {
		v := o.get(f.name)
		switch {
		case v.has():
			k.field(f, v)
		case f.required == (protocol{}), k.release.less(f.required), f.last.less(k.release):
		case f.dropped && k.release == protocol10:
		default:
			k.warn("missing_" + f.name)
		}
	}
}

// field checks a field that is there.
func (k *checker) field(f field, v *value) {
	within := func(p protocol) bool { return f.first != (protocol{}) && !p.less(f.first) && !f.last.less(p) }
	if !within(k.release) && !(k.union && within(protocol03)) {
		k.warn("field_of_other_version")
	}
	if v.kind != f.kind {
		k.warn("wrong_type_" + f.name)
		return
	}
	if v.kind == text && v.text == "" && f.required != (protocol{}) {
		k.warn("empty_" + f.name)
	}
	for i := range v.items() {
		if v.members[i].kind != f.items {
			k.warn("wrong_type_" + f.name)
			return
		}
	}
}

func (k *checker) interfaces(o *value, interfaces []Interface) {
	for _, i := range interfaces {
		lower := strings.ToLower(strings.TrimSpace(i.URL))
		switch {
		case i.HostKind == HostEmpty: // an empty url has its own code
		case i.Host == "":
			k.warn("url_not_absolute")
		case !strings.Contains(lower, "://"):
			if i.Binding != bindingGRPC { // host:port is a gRPC target
				k.warn("url_not_absolute")
			}
		case !strings.HasPrefix(lower, "https://"):
			k.warn("url_not_https")
		}
	}
	supported := o.get("supportedInterfaces").items()
	for i := range supported {
		k.texts("interface_missing_", &supported[i].value, "url", "url", "binding", "protocolBinding", "version", "protocolVersion")
	}
	additional := o.get("additionalInterfaces").items()
	for i := range additional {
		k.texts("interface_missing_", &additional[i].value, "url", "url", "binding", "transport")
	}
}

// texts warns of each field of an object that is not a non-empty text. Pairs
// are the field's word in the code and its name.
func (k *checker) texts(prefix string, v *value, pairs ...string) {
	if v.kind != object {
		return
	}
	for i := 0; i < len(pairs); i += 2 {
		if v.get(pairs[i+1]).str() == "" {
			k.warn(prefix + pairs[i])
		}
	}
}

func (k *checker) skills(skills *value) {
	seen := make(map[string]struct{})
	for i := range skills.items() {
		v := &skills.members[i].value
		k.texts("skill_missing_", v, "id", "id", "name", "name")
		if !k.release.less(protocol02) {
			k.texts("skill_missing_", v, "description", "description")
		}
		// 1.0 may drop empty tags.
		if tags := v.get("tags"); v.kind == object && !tags.has() && !k.release.less(protocol02) && k.release.less(protocol10) {
			k.warn("skill_missing_tags")
		}
		id := v.get("id").label()
		if _, ok := seen[id]; ok && id != "" {
			k.warn("duplicate_skill_id")
		}
		seen[id] = struct{}{}
	}
}

func (k *checker) provider(v *value) {
	k.texts("provider_missing_", v, "organization", "organization")
	if !k.release.less(protocol02) {
		k.texts("provider_missing_", v, "url", "url")
	}
}

func (k *checker) security(c *Card) {
	known := make(map[string]struct{}, len(c.SecuritySchemes))
	for _, s := range c.SecuritySchemes {
		known[s.Name] = struct{}{}
		if s.Type == typeOther || s.Type == typeNone {
			k.warn("unknown_scheme")
		}
	}
	for _, r := range c.Requirements {
		for _, s := range r.Schemes {
			if _, ok := known[s.Name]; !ok {
				k.warn("requirement_names_unknown_scheme")
			}
		}
	}
}
