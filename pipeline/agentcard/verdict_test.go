package agentcard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testFiles reads the files of a directory below testdata, by name.
func testFiles(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files in testdata/%s (%v)", dir, err)
	}
	files := make(map[string][]byte)
	for _, path := range paths {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = body
	}
	return files
}

func testCard(t testing.TB, name string) []byte {
	t.Helper()
	body, ok := testFiles(t, "cards")[name]
	if !ok {
		t.Fatalf("no test card %s", name)
	}
	return body
}

func TestVerdictsOfFiles(t *testing.T) {
	for name, body := range testFiles(t, "cards") {
		v, c := Read(body)
		if v.Kind != Is || v.Detail != "" || c.Name == "" {
			t.Errorf("%s: %+v, name %q; want a card", name, v, c.Name)
		}
		if rule := strings.ToUpper(name[:2]); rule[0] == 'R' && v.Reason != rule {
			t.Errorf("%s: rule %s", name, v.Reason)
		}
	}
	for name, body := range testFiles(t, "near") {
		if v, _ := Read(body); v.Kind != Near || v.Reason != ReasonPartial {
			t.Errorf("%s: %+v, want near", name, v)
		}
	}
	for name, body := range testFiles(t, "not") {
		if v, c := Read(body); v.Kind != Not || c.Name != "" || c.BodyUTF8 != "" {
			t.Errorf("%s: %+v, want no card and no facts", name, v)
		}
	}
}

// TestRules states each rule by the least object that meets it, and by objects
// that lack one thing of it.
func TestRules(t *testing.T) {
	for _, test := range []struct{ name, body, want string }{
		{"R1 binding", `{"name":"a","supportedInterfaces":[{"url":"u","protocolBinding":"X"}]}`, "R1"},
		{"R1 version", `{"name":"a","supportedInterfaces":[{"url":"u","protocolVersion":"1.0"}]}`, "R1"},
		{"R1 in a later entry", `{"name":"a","supportedInterfaces":[null,"x",{"url":""},{"url":"u","protocolVersion":"1.0"}]}`, "R1"},
		{"R1 without name", `{"supportedInterfaces":[{"url":"u","protocolBinding":"X"}]}`, "other_json"},
		{"R1 empty name", `{"name":"","supportedInterfaces":[{"url":"u","protocolBinding":"X"}]}`, "other_json"},
		{"R1 name no text", `{"name":7,"supportedInterfaces":[{"url":"u","protocolBinding":"X"}]}`, "other_json"},
		{"R1 without url", `{"name":"a","supportedInterfaces":[{"url":"","protocolBinding":"X"}]}`, "other_json"},
		{"R1 url and binding apart", `{"name":"a","supportedInterfaces":[{"url":"u"},{"protocolBinding":"X"}]}`, "other_json"},

		{"R2 skill", `{"name":"a","supportedInterfaces":[{"url":"u"}],"skills":[{"id":"s"}]}`, "R2"},
		{"R2 capability", `{"name":"a","supportedInterfaces":[{"url":"u"}],"capabilities":{"streaming":false}}`, "R2"},
		{"R2 modes", `{"name":"a","supportedInterfaces":[{"url":"u"}],"defaultOutputModes":[]}`, "R2"},
		{"R2 alone", `{"name":"a","supportedInterfaces":[{"url":"u"}]}`, "other_json"},

		{"R3 capability", `{"name":"a","url":"","skills":[],"capabilities":{"streaming":null}}`, "R3"},
		{"R3 extensions", `{"name":"a","url":"u","skills":[{"name":"s"}],"capabilities":{"extensions":[]}}`, "R3"},
		{"R3 modes", `{"name":"a","url":"u","skills":[],"defaultInputModes":[]}`, "R3"},
		{"R3 version", `{"name":"a","url":"u","skills":[],"protocolVersion":"0.3.0"}`, "R3"},
		{"R3 version out of range", `{"name":"a","url":"u","skills":[],"protocolVersion":"2.0"}`, "partial"},
		{"R3 date as version", `{"name":"a","url":"u","skills":[],"protocolVersion":"2025-11-25"}`, "partial"},
		{"R3 MCP capabilities", `{"name":"a","url":"u","skills":[],"capabilities":{"streaming":{},"extensions":{}}}`, "partial"},
		{"R3 skills are texts", `{"name":"a","url":"u","skills":["s"],"defaultInputModes":[]}`, "partial"},

		{"R4", `{"name":"a","capabilities":{"pushNotifications":true},"skills":[{"id":"s"}]}`, "R4"},
		{"R4 snake case", `{"name":"a","capabilities":{"push_notifications":true},"skills":[{"id":"s"}]}`, "R4"},
		{"R4 no skill object", `{"name":"a","capabilities":{"pushNotifications":true},"skills":[]}`, "partial"},

		{"R5 modes", `{"name":"a","url":"u","capabilities":{"streaming":true},"defaultInputModes":[]}`, "R5"},
		{"R5 version", `{"name":"a","url":"u","capabilities":{"streaming":true},"protocolVersion":1.0}`, "R5"},
		{"R5 card key", `{"name":"a","url":"u","capabilities":{"streaming":true},"supportsExtendedAgentCard":false}`, "R5"},
		{"R5 two capabilities", `{"name":"a","url":"u","version":"1","capabilities":{"streaming":true,"extendedAgentCard":true}}`, "R5"},
		{"R5 two capabilities, no version", `{"name":"a","url":"u","capabilities":{"streaming":true,"extendedAgentCard":true}}`, "partial"},
		{"R5 one capability", `{"name":"a","url":"u","version":"1","capabilities":{"streaming":true}}`, "partial"},

		{"R6 modes", `{"name":"a","protocolVersion":"0.2","skills":[{"id":"s"}],"defaultInputModes":[]}`, "R6"},
		{"R6 card key", `{"name":"a","protocolVersion":"0.2","skills":[{"id":"s"}],"preferredTransport":"GRPC"}`, "R6"},
		{"R6 neither", `{"name":"a","protocolVersion":"0.2","skills":[{"id":"s"}]}`, "partial"},

		{"a card with foreign keys is a card", `{"name":"a","tools":[],"mcpServers":{},"openapi":"3.1","url":"u","skills":[],"defaultInputModes":[]}`, "R3"},
	} {
		if v, _ := Read([]byte(test.body)); v.Reason != test.want {
			t.Errorf("%s: %+v, want %s", test.name, v, test.want)
		}
	}
}

func TestMarks(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{`{"openapi":"3.1.0","jsonrpc":"2.0"}`, "openapi"},
		{`{"swagger":"2.0"}`, "openapi"},
		{`{"name_for_model":"bees"}`, "ai_plugin"},
		{`{"jsonrpc":"2.0","error":{"code":-32009}}`, "jsonrpc_envelope"},
		{`{"mcpServers":{}}`, "mcp"},
		{`{"serverInfo":{"name":"bees"}}`, "mcp"},
		{`{"name":"bees","tools":[{"name":"count"}]}`, "mcp"},
		{`{"name":"bees","tools":"none"}`, "other_json"},
		{`{"name":"bees","url":"u","tools":[]}`, "other_json"},
		{`{"name":"bees","remotes":[{"type":"sse"}]}`, "mcp_server_json"},
		{`{"agentCard":{"name":"a"}}`, "wrapped"},
		{`{"agent":{"name":"a"}}`, "wrapped"},
		{`{"agents":[{"name":"a"}]}`, "list"},
		{`{"error":"not found"}`, "error"},
		{`{"error":null}`, "other_json"},
		{`{"ahp":"0.1"}`, "ahp"},
		{`{"name":"a","locators":[]}`, "oasf"},
		{`{"@context":"https://schema.example"}`, "json_ld"},
		{`{"linkset":[]}`, "api_catalog"},
		{`{"type":"https://chain.example/EIPS/EIP-8004#registration","name":"a"}`, "erc8004"},
		{`{"name":"a","type":"eip-8004","url":"u","skills":[{"id":"s"}]}`, "partial"},
		{`{}`, "other_json"},
		{`[{"name":"a"}]`, "json_list"},
		{`"a"`, "json_str"},
		{`12`, "json_number"},
		{`true`, "json_bool"},
		{` null `, "json_null"},
		{``, "empty"},
		{" \r\n\t", "empty"},
		{"\ufeff", "empty"},
		{" \n<html>", "html"},
		{"<\xff\xfe", "html"},
		{`Not found`, "not_json"},
		{`nul`, "not_json"},
		{`"open`, "not_json"},
		{"\xff\x00\x01", "not_json"},
		{`{`, "invalid_json"},
		{`[1,]`, "invalid_json"},
	} {
		v, c := Read([]byte(test.body))
		want := Not
		if test.want == ReasonPartial {
			want = Near
		}
		if v.Kind != want || v.Reason != test.want {
			t.Errorf("%q: %+v, want %s", test.body, v, test.want)
		}
		if want == Not && (c.Name != "" || c.Warnings != nil) {
			t.Errorf("%q: facts of something that is no card", test.body)
		}
	}
}

// TestNear: a name and two signs make a near card, one sign does not.
func TestNear(t *testing.T) {
	signs := map[string]string{
		"url":          `"url":"u"`,
		"capabilities": `"capabilities":[]`,
		"skills":       `"skills":null`,
		"modes":        `"defaultInputModes":[]`,
		"version":      `"protocolVersion":"0.3"`,
		"key":          `"preferredTransport":"GRPC"`,
		"interfaces":   `"supportedInterfaces":[{"url":"u"}]`,
		"provider":     `"provider":{"organization":"o"}`,
	}
	for name, sign := range signs {
		if v, _ := Read([]byte(`{"name":"a",` + sign + `}`)); v.Kind != Not {
			t.Errorf("%s alone: %+v", name, v)
		}
		second := signs["provider"]
		if name == "provider" {
			second = signs["url"]
		}
		if v, _ := Read([]byte(`{"name":"a",` + sign + `,` + second + `}`)); v.Kind != Near && v.Kind != Is {
			t.Errorf("%s and another: %+v", name, v)
		}
		if v, _ := Read([]byte(`{` + sign + `,` + second + `}`)); v.Kind != Not {
			t.Errorf("%s and another without a name: %+v", name, v)
		}
	}
}
