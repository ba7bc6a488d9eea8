package agentcard

import (
	"strconv"
	"strings"
)

// unknownVersion is the A2AVersion of a card that gives no hint.
const unknownVersion = "unknown"

// protocol is a protocol version; patch numbers must not matter (A2A 1.0
// section 3.6).
type protocol struct{ major, minor int }

var (
	protocol01 = protocol{0, 1}
	protocol02 = protocol{0, 2}
	protocol03 = protocol{0, 3}
	protocol10 = protocol{1, 0}
)

func (p protocol) String() string { return strconv.Itoa(p.major) + "." + strconv.Itoa(p.minor) }

func (p protocol) less(q protocol) bool {
	return p.major < q.major || p.major == q.major && p.minor < q.minor
}

// parseProtocol reads "0.3.0", "1", "v1.0.0-rc" or "a2a/0.2". Dates and other
// schemes of versions are none: majors over 9 are refused.
func parseProtocol(s string) (protocol, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	s = strings.TrimPrefix(s, "a2a/")
	s = strings.TrimPrefix(s, "v")
	if i := strings.IndexAny(s, "-+"); i >= 0 {
		if i == len(s)-1 {
			return protocol{}, false
		}
		s = s[:i]
	}
	major, rest, dotted := strings.Cut(s, ".")
	var p protocol
	var ok bool
	if p.major, ok = digits(major, 2); !ok {
		return protocol{}, false
	}
	if dotted {
		minor, patches, patched := strings.Cut(rest, ".")
		if p.minor, ok = digits(minor, 3); !ok {
			return protocol{}, false
		}
		for patched {
			var patch string
			patch, patches, patched = strings.Cut(patches, ".")
			if strings.Trim(patch, "0123456789") != "" || patch == "" {
				return protocol{}, false
			}
		}
	}
	if p.major > 9 || p.less(protocol01) {
		return protocol{}, false
	}
	return p, true
}

// digits reads a number of one to most digits.
func digits(s string, most int) (int, bool) {
	if s == "" || len(s) > most || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// readVersion fills what the card says of its protocol version.
func (c *Card) readVersion(o *value) {
	interfaces := o.get("supportedInterfaces").items()
	c.Shape = shapeOf(o)

	var declared ordered
	var highest protocol // of the interfaces
	var listed protocol  // of protocolVersions
	note := func(v *value, highest *protocol) {
		declared.add(v.label())
		p, ok := parseProtocol(v.label())
		if !ok {
			return
		}
		c.Supports10 = c.Supports10 || p.major == 1
		c.Supports03 = c.Supports03 || p == protocol03
		if highest.less(p) {
			*highest = p
		}
	}
	for i := range interfaces {
		note(interfaces[i].get("protocolVersion"), &highest)
	}
	var top protocol
	note(o.get("protocolVersion"), &top)
	for _, m := range o.get("protocolVersions").items() {
		note(&m.value, &listed)
	}
	c.DeclaredVersions = declared.list

	var none protocol
	grown := grownVersion(o)
	found := none
	switch {
	case highest != none:
		// Highest and not first: order is preference, and SDKs list 0.3 first or last at will.
		found, c.VersionSource = highest, FromInterface
	case top != none:
		found, c.VersionSource = top, FromCard
	case listed != none:
		found, c.VersionSource = listed, FromCardList
	case grown != none:
		found, c.VersionSource = grown, FromShape
	}
	if found == none {
		c.A2AVersion, c.VersionSource = unknownVersion, FromNothing
		return
	}
	c.A2AVersion = found.String()

	if top == none {
		top = listed
	}
	switch c.Shape {
	case Shape0x: // a version from 1.0 on needs supportedInterfaces, an old one lacks newer fields
		c.VersionConflict = top != none && (!top.less(protocol10) || top.less(grown))
	case Shape1x: // a client of 0.3 looks for url
		c.VersionConflict = top != none && !protocol03.less(top)
	}
}

func shapeOf(o *value) Shape {
	if len(o.get("supportedInterfaces").items()) == 0 {
		return Shape0x
	}
	for _, key := range []string{"url", "preferredTransport", "additionalInterfaces", "supportsAuthenticatedExtendedCard"} {
		if o.get(key).has() {
			return ShapeUnion
		}
	}
	return Shape1x
}

// grownVersion is the generation that first had the newest of the card's fields,
// zero when all are common to every generation.
func grownVersion(o *value) protocol {
	capabilities := o.get("capabilities")
	switch {
	case len(o.get("supportedInterfaces").items()) > 0,
		o.get("securityRequirements").has(),
		capabilities.get("extendedAgentCard").has():
		return protocol10
	case len(o.get("signatures").items()) > 0, skillsHaveSecurity(o), schemesOf03(o):
		return protocol03
	case o.get("additionalInterfaces").kind == list,
		o.get("preferredTransport").str() != "",
		o.get("iconUrl").str() != "",
		o.get("supportsAuthenticatedExtendedCard").has(),
		o.get("securitySchemes").kind == object,
		o.get("security").kind == list,
		capabilities.get("extensions").kind == list:
		return protocol02
	case o.get("authentication").get("schemes").kind == list:
		return protocol01
	}
	return protocol{}
}

func skillsHaveSecurity(o *value) bool {
	for _, m := range o.get("skills").items() {
		if m.get("security").has() {
			return true
		}
	}
	return false
}

// schemesOf03 says whether a scheme is of a kind that 0.3 brought.
func schemesOf03(o *value) bool {
	schemes := o.get("securitySchemes")
	if schemes.kind != object {
		return false
	}
	for i := range schemes.members {
		t, _, body := schemeType(&schemes.members[i].value)
		if t == typeMutualTLS || body.get("oauth2MetadataUrl").str() != "" {
			return true
		}
	}
	return false
}
