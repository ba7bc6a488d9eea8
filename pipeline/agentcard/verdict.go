package agentcard

import "strings"

// Reasons of a verdict other than the rules R1 to R6.
const (
	ReasonPartial     = "partial"      // near: signs of a card, too few to use it
	ReasonEmpty       = "empty"        // nothing, or nothing but space
	ReasonHTML        = "html"         // begins with "<"
	ReasonNotJSON     = "not_json"     // does not even begin like JSON
	ReasonInvalidJSON = "invalid_json" // begins like an object or array and is not one strict value
	ReasonList        = "json_list"
	ReasonString      = "json_str"
	ReasonNumber      = "json_number"
	ReasonBoolean     = "json_bool"
	ReasonNull        = "json_null"
	ReasonOtherJSON   = "other_json" // an object without any known mark
)

// signals are the observations on an object that the rules combine. No single
// key decides: name, url, version, capabilities and even skills occur in many
// other documents. What no other format has is booleans such as streaming in
// capabilities, the pair of default modes, supportedInterfaces with a binding,
// and a protocolVersion in A2A's range (MCP's is a date).
type signals struct {
	name          bool // name is a non-empty string
	url           bool // url is a string, also an empty one
	interfaces    bool // an entry of supportedInterfaces has a URL
	bound         bool // ... and a protocolBinding or protocolVersion
	capabilities  int  // how many of A2A's capabilities are there
	skillObjects  bool // a skill is an object with an id or a name
	skillArray    bool
	skillsEmpty   bool
	modes         bool // one of the default modes is a list
	protocol      bool // protocolVersion is readable and of major version 0 or 1
	cardKey       bool // a key that only cards have
	versionString bool
}

func observe(o *value) signals {
	s := signals{
		name:          o.get("name").str() != "",
		url:           o.get("url").kind == text,
		capabilities:  countCapabilities(o.get("capabilities")),
		modes:         o.get("defaultInputModes").kind == list || o.get("defaultOutputModes").kind == list,
		versionString: o.get("version").kind == text,
	}
	for _, m := range o.get("supportedInterfaces").items() {
		if m.get("url").str() == "" {
			continue
		}
		s.interfaces = true
		s.bound = s.bound || m.get("protocolBinding").has() || m.get("protocolVersion").has()
	}
	skills := o.get("skills")
	s.skillArray = skills.kind == list
	s.skillsEmpty = s.skillArray && len(skills.members) == 0
	for _, m := range skills.items() {
		s.skillObjects = s.skillObjects || m.get("id").str() != "" || m.get("name").str() != ""
	}
	if v, ok := parseProtocol(o.get("protocolVersion").label()); ok {
		s.protocol = v.major <= 1
	}
	for _, key := range []string{"preferredTransport", "additionalInterfaces",
		"supportsAuthenticatedExtendedCard", "supportsExtendedAgentCard"} {
		s.cardKey = s.cardKey || o.get(key).has()
	}
	return s
}

// countCapabilities counts the A2A keys of capabilities. MCP's capabilities have
// objects as values and its extensions are an object, so only scalars and a list
// of extensions count.
func countCapabilities(c *value) int {
	n := 0
	for _, key := range []string{"streaming", "pushNotifications", "stateTransitionHistory", "extendedAgentCard"} {
		if k := c.get(key).kind; k != absent && k != list && k != object {
			n++
		}
	}
	if c.get("extensions").kind == list {
		n++
	}
	return n
}

// rule is the first rule by which an object with these signals is a card, or "".
func (s signals) rule() string {
	if !s.name {
		return ""
	}
	caps := s.capabilities >= 1
	switch {
	case s.bound:
		return "R1" // 1.0, even with nothing else: ProtoJSON drops empty fields
	case s.interfaces && (s.skillObjects || caps || s.modes):
		return "R2"
	case s.url && s.skillArray && (s.skillObjects || s.skillsEmpty) && (caps || s.modes || s.protocol):
		return "R3"
	case caps && s.skillObjects:
		return "R4" // no url: a framework adds it when serving
	case s.url && caps && (s.modes || s.protocol || s.cardKey || s.capabilities >= 2 && s.versionString):
		return "R5" // no skills
	case s.protocol && s.skillObjects && (s.modes || s.cardKey):
		return "R6"
	}
	return ""
}

// foreign is the name of the format an object belongs to by its marks, or "".
// It is asked only of objects no rule takes for a card, so that a card with
// further keys stays a card.
func foreign(o *value, s signals) string {
	for _, mark := range []struct{ key, reason string }{
		{"openapi", "openapi"},
		{"swagger", "openapi"},
		{"name_for_model", "ai_plugin"},
		{"jsonrpc", "jsonrpc_envelope"},
		{"mcpServers", "mcp"},
		{"serverInfo", "mcp"},
		{"tools", "mcp"},
		{"remotes", "mcp_server_json"},
		{"agentCard", "wrapped"}, // no SDK accepts a wrapped card
		{"agent", "wrapped"},
		{"agents", "list"},
		{"error", "error"},
		{"ahp", "ahp"},
		{"locators", "oasf"},
		{"@context", "json_ld"},
		{"linkset", "api_catalog"}, // RFC 9727
	} {
		v := o.get(mark.key)
		if !v.has() || mark.key == "tools" && (v.kind != list || s.url) {
			continue
		}
		return mark.reason
	}
	if !s.skillObjects && strings.Contains(strings.ToLower(o.get("type").str()), "eip-8004") {
		return "erc8004"
	}
	return ""
}

// near says whether the author evidently meant an agent card.
func near(o *value, s signals) bool {
	signs := 0
	for _, sign := range []bool{
		s.url,
		o.get("capabilities").has(),
		o.get("skills").kind != absent,
		s.modes,
		s.protocol,
		s.cardKey,
		s.interfaces,
		o.get("provider").get("organization").has(),
	} {
		if sign {
			signs++
		}
	}
	return s.name && signs >= 2
}

// judge decides on a whole document.
func judge(v *value) Verdict {
	switch v.kind {
	case object:
	case list:
		return Verdict{Kind: Not, Reason: ReasonList}
	case text:
		return Verdict{Kind: Not, Reason: ReasonString}
	case number:
		return Verdict{Kind: Not, Reason: ReasonNumber}
	case boolean:
		return Verdict{Kind: Not, Reason: ReasonBoolean}
	default:
		return Verdict{Kind: Not, Reason: ReasonNull}
	}
	s := observe(v)
	if r := s.rule(); r != "" {
		return Verdict{Kind: Is, Reason: r}
	}
	if r := foreign(v, s); r != "" {
		return Verdict{Kind: Not, Reason: r}
	}
	if near(v, s) {
		return Verdict{Kind: Near, Reason: ReasonPartial}
	}
	return Verdict{Kind: Not, Reason: ReasonOtherJSON}
}
