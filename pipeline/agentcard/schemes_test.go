package agentcard

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cardWith is a card of no generation in particular with further members.
func cardWith(members string) []byte {
	return []byte(`{"name":"a","url":"https://a.example","skills":[],"defaultInputModes":[],` + members + `}`)
}

// TestSchemeForms has every wire form by which a scheme has been seen.
func TestSchemeForms(t *testing.T) {
	for _, test := range []struct {
		name, scheme string
		want         SecurityScheme
	}{
		{"A apiKey", `{"type":"apiKey","in":"Query","name":"k"}`, SecurityScheme{Type: "apiKey", TypeRaw: "apiKey", APIKeyIn: "query", APIKeyName: "k"}},
		{"A http", `{"type":"http","scheme":"Bearer","bearerFormat":"JWT"}`, SecurityScheme{Type: "http", TypeRaw: "http", HTTPScheme: "bearer", BearerFormat: "JWT"}},
		{"A oauth2", `{"type":"oauth2","flows":{"password":{},"implicit":{},"authorizationCode":null}}`, SecurityScheme{Type: "oauth2", TypeRaw: "oauth2", OAuthFlows: []string{"implicit", "password"}}},
		{"A openIdConnect", `{"type":"openIdConnect","openIdConnectUrl":"o"}`, SecurityScheme{Type: "openIdConnect", TypeRaw: "openIdConnect", OpenIDConnectURL: "o"}},
		{"A mutualTLS", `{"type":"mutualTLS"}`, SecurityScheme{Type: "mutualTLS", TypeRaw: "mutualTLS"}},
		{"B apiKey", `{"apiKeySecurityScheme":{"location":"cookie","name":"k"}}`, SecurityScheme{Type: "apiKey", TypeRaw: "apiKeySecurityScheme", APIKeyIn: "cookie", APIKeyName: "k"}},
		{"B http", `{"httpAuthSecurityScheme":{"scheme":"basic"}}`, SecurityScheme{Type: "http", TypeRaw: "httpAuthSecurityScheme", HTTPScheme: "basic"}},
		{"B oauth2", `{"oauth2SecurityScheme":{"flows":{"deviceCode":{}}}}`, SecurityScheme{Type: "oauth2", TypeRaw: "oauth2SecurityScheme", OAuthFlows: []string{"deviceCode"}}},
		{"B openIdConnect", `{"openIdConnectSecurityScheme":{"openIdConnectUrl":"o"}}`, SecurityScheme{Type: "openIdConnect", TypeRaw: "openIdConnectSecurityScheme", OpenIDConnectURL: "o"}},
		{"B mutual TLS", `{"mtlsSecurityScheme":{}}`, SecurityScheme{Type: "mutualTLS", TypeRaw: "mtlsSecurityScheme"}},
		{"B with null siblings", `{"apiKeySecurityScheme":null,"httpAuthSecurityScheme":{"scheme":"bearer"},"mtlsSecurityScheme":null}`, SecurityScheme{Type: "http", TypeRaw: "httpAuthSecurityScheme", HTTPScheme: "bearer"}},
		{"C wrapper and flat", `{"httpAuthSecurityScheme":{"scheme":"Bearer"},"type":"http","scheme":"Bearer"}`, SecurityScheme{Type: "http", TypeRaw: "httpAuthSecurityScheme", HTTPScheme: "bearer"}},
		{"C flat and nested copy", `{"type":"http","scheme":"Bearer","http":{"scheme":"Bearer"}}`, SecurityScheme{Type: "http", TypeRaw: "http", HTTPScheme: "bearer"}},
		{"D leaked oneof", `{"scheme":{"$case":"oauth2SecurityScheme","value":{"flows":{"flow":{"$case":"clientCredentials","value":{}}}}}}`, SecurityScheme{Type: "oauth2", TypeRaw: "oauth2SecurityScheme", OAuthFlows: []string{"clientCredentials"}}},
		{"D leaked oneof of mutual TLS", `{"scheme":{"$case":"mtlsSecurityScheme","value":{}}}`, SecurityScheme{Type: "mutualTLS", TypeRaw: "mtlsSecurityScheme"}},
		{"E openIdConnectUrl", `{"openIdConnectUrl":"o","description":null}`, SecurityScheme{Type: "openIdConnect", OpenIDConnectURL: "o"}},
		{"E flows", `{"flows":{"authorizationCode":{}}}`, SecurityScheme{Type: "oauth2", OAuthFlows: []string{"authorizationCode"}}},
		{"E scheme", `{"scheme":"Digest"}`, SecurityScheme{Type: "http", HTTPScheme: "digest"}},
		{"E bearerFormat", `{"bearerFormat":"JWT"}`, SecurityScheme{Type: "http", BearerFormat: "JWT"}},
		{"E in and name", `{"in":"header","name":"k"}`, SecurityScheme{Type: "apiKey", APIKeyIn: "header", APIKeyName: "k"}},
		{"E nothing", `{"description":"ask us"}`, SecurityScheme{Type: "other"}},
		{"F api_key", `{"type":"API_KEY","in":"header"}`, SecurityScheme{Type: "apiKey", TypeRaw: "API_KEY", APIKeyIn: "header"}},
		{"F httpAuth", `{"type":"httpAuth","scheme":"Bearer"}`, SecurityScheme{Type: "http", TypeRaw: "httpAuth", HTTPScheme: "bearer"}},
		{"F bearer", `{"type":"bearer"}`, SecurityScheme{Type: "http", TypeRaw: "bearer", HTTPScheme: "bearer"}},
		{"F basic", `{"type":"basic"}`, SecurityScheme{Type: "http", TypeRaw: "basic", HTTPScheme: "basic"}},
		{"F oidc", `{"type":"oidc"}`, SecurityScheme{Type: "openIdConnect", TypeRaw: "oidc"}},
		{"F mtls", `{"type":"mTLS"}`, SecurityScheme{Type: "mutualTLS", TypeRaw: "mTLS"}},
		{"F none", `{"type":"none"}`, SecurityScheme{Type: "none", TypeRaw: "none"}},
		{"F unheard of", `{"type":"x402","in":"header","name":"k"}`, SecurityScheme{Type: "other", TypeRaw: "x402"}},
		{"F plain text", `"bearer"`, SecurityScheme{Type: "http", TypeRaw: "bearer", HTTPScheme: "bearer"}},
		{"null", `null`, SecurityScheme{Type: "other"}},
		{"list", `[1]`, SecurityScheme{Type: "other"}},
	} {
		// The name is a wrapper's key, which must not matter.
		test.want.Name = "apiKeySecurityScheme"
		_, c := Read(cardWith(`"securitySchemes":{"apiKeySecurityScheme":` + test.scheme + `}`))
		if diff := cmp.Diff([]SecurityScheme{test.want}, c.SecuritySchemes); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.name, diff)
		}
	}
}

func TestSchemeSummaries(t *testing.T) {
	_, c := Read(testCard(t, "v10_every_scheme_form.json"))
	for _, test := range []struct {
		name      string
		want, got []string
	}{
		{"types", []string{"apiKey", "http", "mutualTLS", "oauth2", "openIdConnect"}, c.SchemeTypes},
		{"http schemes", []string{"basic", "bearer", "digest"}, c.HTTPSchemes},
		{"key locations", []string{"cookie", "query"}, c.APIKeyLocations},
		{"flows", []string{"deviceCode"}, c.OAuthFlows},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.name, diff)
		}
	}
}

func TestRequirements(t *testing.T) {
	google := []Requirement{{Schemes: []RequiredScheme{{Name: "g", Scopes: []string{"openid", "mail"}}}}}
	for _, test := range []struct {
		name, members, auth string
		want                []Requirement
	}{
		{"0.2", `"security":[{"g":["openid","mail"]}]`, "required", google},
		{"1.0", `"securityRequirements":[{"schemes":{"g":{"list":["openid","mail"]}}}]`, "required", google},
		{"1.0 of a2a-go", `"securityRequirements":[{"schemes":{"g":["openid","mail"]}}]`, "required", google},
		{"old shape, new name", `"securityRequirements":[{"g":["openid","mail"]}]`, "required", google},
		{"new shape, old name", `"security":[{"schemes":{"g":{"list":["openid","mail"]}}}]`, "required", google},
		{"both names", `"security":[{"x":[]}],"securityRequirements":[{"g":["openid","mail"]}]`, "required", google},
		{"text", `"security":["g"]`, "required", []Requirement{{Schemes: []RequiredScheme{{Name: "g"}}}}},
		{"and", `"security":[{"b":[],"a":[]}]`, "required", []Requirement{{Schemes: []RequiredScheme{{Name: "a"}, {Name: "b"}}}}},
		{"or nobody", `"security":[{"g":["openid","mail"]},{}]`, "optional", append(google[:1:1], Requirement{})},
		{"nobody or", `"securityRequirements":[{"schemes":{}},{"g":["openid","mail"]}]`, "optional", append([]Requirement{{}}, google...)},
		{"scheme called schemes", `"security":[{"schemes":["s"]}]`, "required", []Requirement{{Schemes: []RequiredScheme{{Name: "schemes", Scopes: []string{"s"}}}}}},
		{"empty list", `"security":[]`, "", nil},
		{"none", `"security":null`, "", nil},
		{"no list", `"security":{"auth":["jwt"]}`, "", nil},
		{"odd entries", `"security":[null,7,[]]`, "", nil},
	} {
		_, c := Read(cardWith(test.members))
		if c.AuthRequired != test.auth {
			t.Errorf("%s: auth %q, want %q", test.name, c.AuthRequired, test.auth)
		}
		if diff := cmp.Diff(test.want, c.Requirements); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.name, diff)
		}
	}
}

func TestLegacyAuthentication(t *testing.T) {
	for in, want := range map[string][]string{
		`{"schemes":["None","ApiKey","none"],"credentials":null}`: {"none", "apikey"},
		`{"schemes":[{"type":"JWT"},{"scheme":"basic"},{"x":1}]}`: {"jwt", "basic"},
		`{"schemes":"Bearer"}`:       {"bearer"},
		`{"type":"api_key"}`:         {"api_key"},
		`[{"type":"oauth2"},"none"]`: {"oauth2", "none"},
		`"None"`:                     {"none"},
		`{"required":false}`:         nil,
		`null`:                       nil,
		`false`:                      nil,
	} {
		_, c := Read(cardWith(`"authentication":` + in))
		if diff := cmp.Diff(want, c.LegacyAuthSchemes); diff != "" {
			t.Errorf("%s: -want +got\n%s", in, diff)
		}
		if c.SchemeTypes != nil {
			t.Errorf("%s: scheme types %q", in, c.SchemeTypes)
		}
	}
}
