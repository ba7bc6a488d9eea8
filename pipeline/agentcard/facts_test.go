package agentcard

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFactsOfAWholeCard compares every fact of a 0.3 card that has every field.
func TestFactsOfAWholeCard(t *testing.T) {
	body := testCard(t, "r3_v03_full.json")
	_, got := Read(body)
	got.Relate("orchard.example")
	if len(got.CanonicalSHA256) != 64 {
		t.Errorf("canonical hash %q", got.CanonicalSHA256)
	}
	got.CanonicalSHA256 = ""
	want := Card{
		Name:             "Orchard Planner",
		Description:      "Plans when to pick which apples.",
		Version:          "1.4.0",
		DocumentationURL: "https://orchard.example/docs",
		IconURL:          "https://orchard.example/apple.png",
		Provider:         Provider{Organization: "Orchard Works", From: "organization", URL: "https://orchard.example"},
		A2AVersion:       "0.3",
		VersionSource:    FromCard,
		Shape:            Shape0x,
		DeclaredVersions: []string{"0.3.0"},
		Supports03:       true,
		Interfaces: []Interface{
			{URL: "https://agent.orchard.example/a2a", Binding: "JSONRPC", BindingRaw: "JSONRPC", From: "url",
				Host: "agent.orchard.example", HostKind: HostSite},
			{URL: "https://agent.orchard.example/rest", Binding: "HTTP+JSON", BindingRaw: "HTTP+JSON", From: "additionalInterfaces",
				Host: "agent.orchard.example", HostKind: HostSite},
			{URL: "agent.orchard.example:8443", Binding: "GRPC", BindingRaw: "GRPC", From: "additionalInterfaces",
				Host: "agent.orchard.example:8443", HostKind: HostSite},
		},
		Bindings:       []string{"JSONRPC", "HTTP+JSON", "GRPC"},
		InterfaceHosts: []string{"agent.orchard.example", "agent.orchard.example:8443"},
		Capabilities:   Capabilities{Streaming: new(true), PushNotifications: new(false), ExtendedCard: new(true)},
		Extensions: []Extension{
			{URI: "https://ext.example/weather/v1", Description: "Weather of the day", Required: new(true)},
			{URI: "https://ext.example/frost/v1"},
		},
		InputModes:  []string{"text/plain", "application/json"},
		OutputModes: []string{"application/json"},
		SkillsCount: 2,
		SkillsKind:  SkillsArray,
		Skills: []Skill{
			{ID: "plan", Name: "Plan a harvest", Tags: []string{"harvest", "plan"}},
			{ID: "frost", Name: "Frost alarm", Tags: []string{"weather"}},
		},
		SecuritySchemes: []SecurityScheme{
			{Name: "key", Type: "apiKey", TypeRaw: "apiKey", APIKeyIn: "header", APIKeyName: "X-Orchard-Key"},
			{Name: "login", Type: "oauth2", TypeRaw: "oauth2", OAuthFlows: []string{"authorizationCode", "clientCredentials"}},
		},
		SchemeTypes:     []string{"apiKey", "oauth2"},
		APIKeyLocations: []string{"header"},
		OAuthFlows:      []string{"authorizationCode", "clientCredentials"},
		AuthRequired:    "required",
		Requirements: []Requirement{
			{Schemes: []RequiredScheme{{Name: "login", Scopes: []string{"pick"}}}},
			{Schemes: []RequiredScheme{{Name: "key"}}},
		},
		Signed:          true,
		SignaturesCount: 1,
		Signatures: []Signature{{
			WellFormed: true, Alg: "ES256", Kid: "orchard-1", Typ: "JOSE",
			JKU: "https://orchard.example/jwks.json", JKUHost: "orchard.example", JKUKind: HostSame,
			LengthPlausible: new(true), HeaderKeys: []string{"by", "note"},
		}},
		BodyUTF8: string(body),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestSnakeCaseIsTheSameCard: proto field names are read like camelCase ones,
// names the author chose stay as they are.
func TestSnakeCaseIsTheSameCard(t *testing.T) {
	_, c := Read(testCard(t, "v10_snake_case.json"))
	want := []SecurityScheme{
		{Name: "my_cert", Type: "mutualTLS", TypeRaw: "mtlsSecurityScheme"},
		{Name: "my_login", Type: "openIdConnect", TypeRaw: "openIdConnectSecurityScheme", OpenIDConnectURL: "https://id.mill.example/c"},
	}
	if diff := cmp.Diff(want, c.SecuritySchemes); diff != "" {
		t.Errorf("schemes: -want +got\n%s", diff)
	}
	if c.A2AVersion != "1.0" || c.VersionSource != FromInterface || c.DocumentationURL != "https://mill.example/docs" ||
		len(c.InputModes) != 1 || len(c.OutputModes) != 1 || len(c.Warnings) != 0 {
		t.Errorf("%+v", c)
	}
	if diff := cmp.Diff(Capabilities{PushNotifications: new(true), ExtendedCard: new(true)}, c.Capabilities); diff != "" {
		t.Errorf("capabilities: -want +got\n%s", diff)
	}

	_, c = Read([]byte(`{"name":"a","url":"u","skills":[],"default_input_modes":["snake"],"defaultInputModes":["camel"]}`))
	if diff := cmp.Diff([]string{"camel"}, c.InputModes); diff != "" {
		t.Errorf("both spellings: -want +got\n%s", diff)
	}
}

func TestNullsAndEmptiesAreAbsent(t *testing.T) {
	_, got := Read(testCard(t, "v10_nulls.json"))
	want := Card{
		Name: "Quarry", Description: "Stone.", A2AVersion: "1.0", VersionSource: FromInterface, Shape: Shape1x,
		DeclaredVersions: []string{"1.0"}, Supports10: true,
		Interfaces: []Interface{{URL: "http://127.0.0.1:9000", Binding: "HTTP+JSON", BindingRaw: "HTTP+JSON",
			Version: "1.0", VersionRaw: "1.0", From: "supportedInterfaces", Host: "127.0.0.1:9000", HostKind: HostLoopback}},
		Bindings: []string{"HTTP+JSON"}, InterfaceHosts: []string{"127.0.0.1:9000"},
		SkillsKind: SkillsNull,
		Warnings:   []string{"empty_version", "url_not_https"},
		// These two are the subject of other tests.
		CanonicalSHA256: got.CanonicalSHA256, BodyUTF8: got.BodyUTF8,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestBooleans(t *testing.T) {
	_, c := Read(testCard(t, "r3_v01_authentication.json"))
	want := Capabilities{Streaming: new(true), PushNotifications: new(false)}
	if diff := cmp.Diff(want, c.Capabilities); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, test := range []struct {
		flags string
		want  *bool
	}{
		{`"capabilities":{"extendedAgentCard":true}`, new(true)},
		{`"capabilities":{"extendedAgentCard":false},"supportsAuthenticatedExtendedCard":true`, new(true)},
		{`"supportsExtendedAgentCard":"TRUE"`, new(true)},
		{`"supportsAuthenticatedExtendedCard":false`, new(false)},
		{`"supportsAuthenticatedExtendedCard":1`, nil},
		{`"supportsAuthenticatedExtendedCard":""`, nil},
		{`"supportsAuthenticatedExtendedCard":null`, nil},
	} {
		_, c := Read([]byte(`{"name":"a","url":"u","skills":[],"defaultInputModes":[],` + test.flags + `}`))
		if diff := cmp.Diff(test.want, c.Capabilities.ExtendedCard); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.flags, diff)
		}
	}
}

func TestProvider(t *testing.T) {
	for in, want := range map[string]Provider{
		`{"organization":"O","name":"N","url":"u"}`: {Organization: "O", From: "organization", URL: "u"},
		`{"organization":"","name":"N"}`:            {Organization: "N", From: "name"},
		`"Plain"`:                                   {Organization: "Plain", From: "string"},
		`{"url":"u"}`:                               {URL: "u"},
		`null`:                                      {},
		`["O"]`:                                     {},
		`{"organization":{"name":"O"}}`:             {},
	} {
		_, c := Read([]byte(`{"name":"a","url":"u","skills":[],"defaultInputModes":[],"provider":` + in + `}`))
		if c.Provider != want {
			t.Errorf("%s: %+v, want %+v", in, c.Provider, want)
		}
	}
}

func TestSkills(t *testing.T) {
	for _, test := range []struct {
		skills string
		kind   SkillsKind
		count  int
		want   []Skill
	}{
		{`,"skills":[{"id":7,"tags":["a","",1,"b"]},"by name",null,[]]`, SkillsArray, 4,
			[]Skill{{ID: "7", Tags: []string{"a", "b"}}, {Name: "by name"}}},
		{`,"skills":[]`, SkillsArray, 0, nil},
		{`,"skills":null`, SkillsNull, 0, nil},
		{`,"skills":"/skills.json"`, SkillsOther, 0, nil},
		{`,"skills":{"id":"a"}`, SkillsOther, 0, nil},
		{``, SkillsAbsent, 0, nil},
	} {
		_, c := Read([]byte(`{"name":"a","supportedInterfaces":[{"url":"u","protocolBinding":"X"}]` + test.skills + `}`))
		if c.SkillsKind != test.kind || c.SkillsCount != test.count {
			t.Errorf("%s: %s, %d", test.skills, c.SkillsKind, c.SkillsCount)
		}
		if diff := cmp.Diff(test.want, c.Skills); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.skills, diff)
		}
	}
}
