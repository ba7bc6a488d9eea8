package agentcard

import (
	"strings"
	"testing"
)

// TestGoodCardsHaveNoWarnings: what an SDK of each generation serves is clean.
func TestGoodCardsHaveNoWarnings(t *testing.T) {
	for _, name := range []string{"r3_v03_full.json", "union_03_10.json", "v10_snake_case.json"} {
		if _, c := Read(testCard(t, name)); c.Warnings != nil {
			t.Errorf("%s: %q", name, c.Warnings)
		}
	}
	// ProtoJSON drops empty arrays and messages.
	_, c := Read([]byte(`{"name":"a","description":"d","version":"1","supportedInterfaces":[{"url":"https://a.example","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`))
	if c.Warnings != nil {
		t.Errorf("least 1.0 card: %q", c.Warnings)
	}
}

// TestWarnings changes one thing in a clean card of each generation.
func TestWarnings(t *testing.T) {
	const (
		v01 = `{"name":"a","url":"https://a.example","version":"1","capabilities":{"streaming":true},"authentication":{"schemes":["none"]},
			"provider":{"organization":"o"},"skills":[{"id":"s","name":"S"}]}`
		v02 = `{"name":"a","description":"d","url":"https://a.example","version":"1","protocolVersion":"0.2.6","preferredTransport":"GRPC",
			"additionalInterfaces":[{"url":"a.example:443","transport":"GRPC"}],"capabilities":{"streaming":true},
			"provider":{"organization":"o","url":"https://a.example"},"defaultInputModes":["t"],"defaultOutputModes":["t"],
			"skills":[{"id":"s","name":"S","description":"d","tags":[]}]}`
		v03 = `{"name":"a","description":"d","url":"https://a.example","version":"1","capabilities":{"streaming":true},
			"securitySchemes":{"m":{"type":"mutualTLS"}},"security":[{"m":[]}],"protocolVersion":"0.3.0",
			"defaultInputModes":["t"],"defaultOutputModes":["t"],"skills":[{"id":"s","name":"S","description":"d","tags":["t"]}]}`
		v10 = `{"name":"a","description":"d","version":"1","supportedInterfaces":[{"url":"https://a.example","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
			"capabilities":{"streaming":true},"skills":[{"id":"s","name":"S","description":"d"}]}`
	)
	for _, test := range []struct{ name, card, old, new, want string }{
		{"clean 0.1", v01, "", "", ""},
		{"clean 0.2", v02, "", "", ""},
		{"clean 0.3", v03, "", "", ""},
		{"clean 1.0", v10, "", "", ""},

		{"0.1 may lack description, tags and modes", v01, `"name":"S"`, `"name":"S","description":null`, ""},
		{"0.1 misses a version", v01, `"version":"1",`, ``, "missing_version"},
		{"0.1 misses skills", v01, `"skills":[{"id":"s","name":"S"}]`, `"version":"1","defaultInputModes":[]`, "duplicate_keys missing_skills"},
		{"0.1 needs no provider url, 0.2 does", v02, `,"url":"https://a.example"},"default`, `},"default`, "provider_missing_url"},
		{"0.2 misses description", v02, `"description":"d","url"`, `"url"`, "missing_description"},
		{"0.2 misses modes", v02, `"defaultInputModes":["t"],"defaultOutputModes":["t"],`, ``, "missing_defaultInputModes missing_defaultOutputModes"},
		{"0.2 has no signatures", v02, `"name":"a"`, `"name":"a","signatures":[{}]`, "field_of_other_version"},
		{"0.2 interface without transport", v02, `,"transport":"GRPC"`, ``, "interface_missing_binding url_not_absolute"},
		{"0.3 misses protocolVersion", v03, `,"protocolVersion":"0.3.0"`, ``, "missing_protocolVersion"},
		{"0.3 has no authentication", v03, `"name":"a"`, `"name":"a","authentication":{"schemes":["x"]}`, "field_of_other_version"},
		{"0.3 misses capabilities", v03, `"capabilities":{"streaming":true},`, ``, "missing_capabilities"},
		{"null is missing", v03, `"version":"1"`, `"version":null`, "missing_version"},
		{"empty url", v03, `"https://a.example"`, `""`, "empty_url"},
		{"plain http", v03, `https:`, `http:`, "url_not_https"},
		{"relative url", v03, `https://a.example`, `/a2a`, "url_not_absolute"},
		{"host and port for JSON-RPC", v03, `https://a.example`, `a.example:443`, "url_not_absolute"},
		{"template url", v03, `https://a.example`, `https://{HOST}`, "url_not_absolute"},
		{"skill without anything", v03, `"id":"s","name":"S","description":"d","tags":["t"]`, ``, "skill_missing_description skill_missing_id skill_missing_name skill_missing_tags"},
		{"skill is a text", v03, `{"id":"s","name":"S","description":"d","tags":["t"]}`, `{"id":"s","name":"S","description":"d","tags":["t"]},"x"`, "wrong_type_skills"},
		{"same skill twice", v03, `"skills":[`, `"skills":[{"id":"s","name":"S2","description":"d","tags":["t"]},`, "duplicate_skill_id"},
		{"provider without organization", v03, `"name":"a"`, `"name":"a","provider":{"name":"o","url":"u"}`, "provider_missing_organization"},
		{"provider is a text", v03, `"name":"a"`, `"name":"a","provider":"o"`, "wrong_type_provider"},
		{"unknown scheme type", v03, `"mutualTLS"`, `"x402"`, "unknown_scheme"},
		{"scheme none", v03, `"mutualTLS"`, `"none"`, "unknown_scheme"},
		{"requirement without scheme", v03, `[{"m":[]}]`, `[{"n":[]}]`, "requirement_names_unknown_scheme"},
		{"boolean as text", v03, `"streaming":true`, `"streaming":"true"`, "wrong_type_streaming"},
		{"version as number", v03, `"version":"1"`, `"version":1`, "wrong_type_version"},
		{"modes as text", v03, `"defaultInputModes":["t"]`, `"defaultInputModes":"t"`, "wrong_type_defaultInputModes"},
		{"modes of numbers", v03, `"defaultInputModes":["t"]`, `"defaultInputModes":[1]`, "wrong_type_defaultInputModes"},
		{"1.0 has no stateTransitionHistory", v10, `"streaming":true`, `"streaming":true,"stateTransitionHistory":false`, "field_of_other_version"},
		{"1.0 has no security", v10, `"name":"a"`, `"name":"a","security":[]`, "field_of_other_version"},
		{"1.0 has no list of versions", v10, `"name":"a"`, `"name":"a","protocolVersions":["1.0"]`, "field_of_other_version"},
		{"a union may have what 0.3 has", v10, `"name":"a"`, `"name":"a","url":"https://a.example","preferredTransport":"JSONRPC","protocolVersion":"0.3","security":[]`, ""},
		{"a union may not have what 0.1 had", v10, `"name":"a"`, `"name":"a","url":"https://a.example","authentication":{}`, "field_of_other_version"},
		{"1.0 interface without binding", v10, `"protocolBinding":"JSONRPC",`, ``, "interface_missing_binding"},
		{"1.0 interface without version", v10, `,"protocolVersion":"1.0"`, ``, "interface_missing_version"},
		{"1.0 interface without url", v10, `[{"url"`, `[{"protocolBinding":"GRPC","protocolVersion":"1.0"},{"url"`, "interface_missing_url"},
		{"1.0 misses description", v10, `"description":"d","version"`, `"version"`, "missing_description"},
		{"empty name of a skill", v10, `"name":"S"`, `"name":""`, "skill_missing_name"},
	} {
		body := test.card
		if test.old != "" {
			body = strings.Replace(body, test.old, test.new, 1)
			if body == test.card {
				t.Fatalf("%s: the change changes nothing", test.name)
			}
		}
		v, c := Read([]byte(body))
		if v.Kind != Is {
			t.Errorf("%s: %+v", test.name, v)
		}
		if got := strings.Join(c.Warnings, " "); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
