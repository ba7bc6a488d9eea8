package agentcard

import (
	"strings"
	"testing"
)

func TestParseProtocol(t *testing.T) {
	for in, want := range map[string]string{
		"0.3.0": "0.3", "0.3": "0.3", "1": "1.0", "1.0.0-rc": "1.0", "1.0.1+b": "1.0", "v1.0": "1.0",
		"a2a/0.2.5": "0.2", "A2A/v1.0": "1.0", " 0.2.9 ": "0.2", "0.10": "0.10", "9.999": "9.999", "0.1": "0.1", "1-rc": "1.0",
		"": "", "2024-11-05": "", "2025": "", "a2a-2025-06": "", "latest": "", "0": "", "0.0.9": "", "10.0": "",
		"1.": "", "1.0.": "", "1.0.x": "", "1.1000": "", "-1": "", "1.0-": "", "v": "", "1 .0": "", "１.0": "",
	} {
		got := ""
		if p, ok := parseProtocol(in); ok {
			got = p.String()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestVersion has one case a way of telling the version, in order of precedence.
// Each is a card by "defaultInputModes" and "skills" or by its interface.
func TestVersion(t *testing.T) {
	const v0 = `"name":"a","url":"https://a.example","skills":[],"defaultInputModes":[]`
	const v1 = `"name":"a","supportedInterfaces":[{"url":"https://a.example","protocolBinding":"JSONRPC"}]`
	for _, test := range []struct {
		name, body      string
		version         string
		source          VersionSource
		shape           Shape
		declared        string
		has10, has03    bool
		versionConflict bool
	}{
		{"highest interface, listed last", `{"name":"a","protocolVersion":"0.3","url":"u","supportedInterfaces":[
			{"url":"u","protocolVersion":"0.3"},{"url":"u","protocolVersion":"x"},{"url":"u","protocolVersion":"1.0.1"}]}`,
			"1.0", FromInterface, ShapeUnion, "0.3 x 1.0.1", true, true, false},
		{"0.10 is above 0.9", `{"name":"a","supportedInterfaces":[{"url":"u","protocolVersion":"0.10"},{"url":"u","protocolVersion":"0.9"}]}`,
			"0.10", FromInterface, Shape1x, "0.10 0.9", false, false, false},
		{"the card's, interfaces have none", `{` + v1 + `,"url":"u","protocolVersion":"0.3"}`, "0.3", FromCard, ShapeUnion, "0.3", false, true, false},
		{"the card's as a number", `{` + v0 + `,"protocolVersion":0.2}`, "0.2", FromCard, Shape0x, "0.2", false, false, false},
		{"the draft's list", `{` + v1 + `,"protocolVersions":["0.3","0.4.0"]}`, "0.4", FromCardList, Shape1x, "0.3 0.4.0", false, true, false},
		{"unreadable declaration", `{` + v0 + `,"protocolVersion":"2025-06-18"}`, "unknown", FromNothing, Shape0x, "2025-06-18", false, false, false},

		{"shape: interfaces", `{` + v1 + `}`, "1.0", FromShape, Shape1x, "", false, false, false},
		{"shape: securityRequirements", `{` + v0 + `,"securityRequirements":[]}`, "1.0", FromShape, Shape0x, "", false, false, false},
		{"shape: extendedAgentCard", `{` + v0 + `,"capabilities":{"extendedAgentCard":false}}`, "1.0", FromShape, Shape0x, "", false, false, false},
		{"shape: signatures", `{` + v0 + `,"signatures":[{}]}`, "0.3", FromShape, Shape0x, "", false, false, false},
		{"shape: security of a skill", `{"name":"a","url":"u","defaultInputModes":[],"skills":[{"id":"s","security":[]}]}`, "0.3", FromShape, Shape0x, "", false, false, false},
		{"shape: mutualTLS", `{` + v0 + `,"securitySchemes":{"m":{"type":"mutualTLS"}}}`, "0.3", FromShape, Shape0x, "", false, false, false},
		{"shape: oauth2MetadataUrl", `{` + v0 + `,"securitySchemes":{"o":{"type":"oauth2","oauth2MetadataUrl":"m"}}}`, "0.3", FromShape, Shape0x, "", false, false, false},
		{"shape: additionalInterfaces", `{` + v0 + `,"additionalInterfaces":[]}`, "0.2", FromShape, Shape0x, "", false, false, false},
		{"shape: preferredTransport", `{` + v0 + `,"preferredTransport":"GRPC"}`, "0.2", FromShape, Shape0x, "", false, false, false},
		{"shape: iconUrl", `{` + v0 + `,"iconUrl":"i"}`, "0.2", FromShape, Shape0x, "", false, false, false},
		{"shape: extended card", `{` + v0 + `,"supportsAuthenticatedExtendedCard":false}`, "0.2", FromShape, Shape0x, "", false, false, false},
		{"shape: securitySchemes", `{` + v0 + `,"securitySchemes":{}}`, "0.2", FromShape, Shape0x, "", false, false, false},
		{"shape: security", `{` + v0 + `,"security":[]}`, "0.2", FromShape, Shape0x, "", false, false, false},
		{"shape: extensions", `{` + v0 + `,"capabilities":{"extensions":[]}}`, "0.2", FromShape, Shape0x, "", false, false, false},
		{"shape: authentication", `{` + v0 + `,"authentication":{"schemes":[]}}`, "0.1", FromShape, Shape0x, "", false, false, false},
		{"nothing", `{` + v0 + `}`, "unknown", FromNothing, Shape0x, "", false, false, false},
		{"nulls and empties say nothing", `{` + v0 + `,"supportedInterfaces":[],"securityRequirements":null,"signatures":[],"additionalInterfaces":null,
			"preferredTransport":"","iconUrl":"","supportsAuthenticatedExtendedCard":null,"securitySchemes":null,"security":null,
			"authentication":null,"capabilities":{"extensions":null,"extendedAgentCard":null}}`, "unknown", FromNothing, Shape0x, "", false, false, false},

		{"conflict: 1.0 without interfaces", `{` + v0 + `,"protocolVersion":"1.0"}`, "1.0", FromCard, Shape0x, "1.0", true, false, true},
		{"conflict: 0.2 with signatures", `{` + v0 + `,"protocolVersion":"0.2.9","signatures":[{}]}`, "0.2", FromCard, Shape0x, "0.2.9", false, false, true},
		{"conflict: 0.3 without url", `{` + v1 + `,"protocolVersion":"0.3.0"}`, "0.3", FromCard, Shape1x, "0.3.0", false, true, true},
		{"no conflict: 0.3 with signatures", `{` + v0 + `,"protocolVersion":"0.3.0","signatures":[{}]}`, "0.3", FromCard, Shape0x, "0.3.0", false, true, false},
		{"no conflict: 0.3 with an old block", `{` + v0 + `,"protocolVersion":"0.3.0","authentication":{"schemes":[]}}`, "0.3", FromCard, Shape0x, "0.3.0", false, true, false},
	} {
		v, c := Read([]byte(test.body))
		if v.Kind != Is {
			t.Errorf("%s: %+v, want a card", test.name, v)
		}
		if c.A2AVersion != test.version || c.VersionSource != test.source || c.Shape != test.shape {
			t.Errorf("%s: %s from %s, shape %s; want %s from %s, shape %s", test.name,
				c.A2AVersion, c.VersionSource, c.Shape, test.version, test.source, test.shape)
		}
		if got := strings.Join(c.DeclaredVersions, " "); got != test.declared {
			t.Errorf("%s: declared %q, want %q", test.name, got, test.declared)
		}
		if c.Supports10 != test.has10 || c.Supports03 != test.has03 || c.VersionConflict != test.versionConflict {
			t.Errorf("%s: 1.0 %t, 0.3 %t, conflict %t", test.name, c.Supports10, c.Supports03, c.VersionConflict)
		}
	}
}
