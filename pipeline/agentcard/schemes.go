package agentcard

import (
	"slices"
	"strings"
)

// The types of a security scheme.
const (
	typeAPIKey    = "apiKey"
	typeHTTP      = "http"
	typeOAuth2    = "oauth2"
	typeOpenID    = "openIdConnect"
	typeMutualTLS = "mutualTLS"
	typeNone      = "none"
	typeOther     = "other"
)

// wrappers are the members of the 1.0 oneof that stand around a scheme.
var wrappers = []struct{ key, scheme string }{
	{"apiKeySecurityScheme", typeAPIKey},
	{"httpAuthSecurityScheme", typeHTTP},
	{"oauth2SecurityScheme", typeOAuth2},
	{"openIdConnectSecurityScheme", typeOpenID},
	{"mtlsSecurityScheme", typeMutualTLS},
}

// schemeType finds the type of a scheme, the text that told it, and the object
// that has its details. Six wire forms are known:
//
//	A  {"type":"http","scheme":"bearer"}                              0.2 and 0.3
//	B  {"httpAuthSecurityScheme":{"scheme":"bearer"}}                 1.0
//	C  A and B in one object                                          a2a-python 1.x, a2a-go compat
//	D  {"scheme":{"$case":"httpAuthSecurityScheme","value":{...}}}    a2a-js 1.0
//	E  {"openIdConnectUrl":"..."}, no type at all                     a2a-java 1.0
//	F  {"type":"bearer"} and other spellings                          written by hand
//
// Only the inside is looked at: the name of a scheme may equal a wrapper's key.
func schemeType(v *value) (scheme, raw string, body *value) {
	for _, w := range wrappers {
		if inner := v.get(w.key); inner.has() {
			return w.scheme, w.key, inner
		}
	}
	if named := v.get("scheme"); named.get("$case").str() != "" {
		raw = named.get("$case").str()
		return typeByName(raw), raw, named.get("value")
	}
	if raw = v.get("type").str(); raw != "" {
		return typeByName(raw), raw, v
	}
	if raw = v.str(); raw != "" {
		return typeByName(raw), raw, v
	}
	switch {
	case v.get("openIdConnectUrl").str() != "":
		scheme = typeOpenID
	case v.get("flows").has():
		scheme = typeOAuth2
	case v.get("bearerFormat").str() != "", v.get("scheme").str() != "":
		scheme = typeHTTP
	case apiKeyPlace(v) != "" && v.get("name").str() != "":
		scheme = typeAPIKey
	default:
		scheme = typeOther
	}
	return scheme, "", v
}

// typeByName reads the spellings of a type, the keys of the wrappers included.
func typeByName(raw string) string {
	switch strings.TrimSuffix(alphanumeric(raw), "securityscheme") {
	case "apikey":
		return typeAPIKey
	case "http", "httpauth", "bearer", "basic", "jwt", "httpbearer", "httpbasic":
		return typeHTTP
	case "oauth2", "oauth":
		return typeOAuth2
	case "openidconnect", "oidc":
		return typeOpenID
	case "mutualtls", "mtls":
		return typeMutualTLS
	case "none":
		return typeNone
	}
	return typeOther
}

// apiKeyPlace is where an API key goes: "in" until 0.3, "location" in 1.0.
func apiKeyPlace(v *value) string {
	if s := v.get("in").str(); s != "" {
		return strings.ToLower(s)
	}
	return strings.ToLower(v.get("location").str())
}

func (c *Card) readSchemes(schemes *value) {
	var types, httpSchemes, places, flows ordered
	entries := schemes.entries()
	c.SecuritySchemes = slices.Grow(c.SecuritySchemes, len(entries))
	for _, m := range entries {
		s := readScheme(m.key, &m.value)
		types.add(s.Type)
		httpSchemes.add(s.HTTPScheme)
		places.add(s.APIKeyIn)
		for _, f := range s.OAuthFlows {
			flows.add(f)
		}
		c.SecuritySchemes = append(c.SecuritySchemes, s)
	}
	c.SchemeTypes, c.HTTPSchemes = types.sorted(), httpSchemes.sorted()
	c.APIKeyLocations, c.OAuthFlows = places.sorted(), flows.sorted()
}

func readScheme(name string, v *value) SecurityScheme {
	s := SecurityScheme{Name: name}
	var body *value
	s.Type, s.TypeRaw, body = schemeType(v)
	switch s.Type {
	case typeHTTP:
		s.HTTPScheme = strings.ToLower(body.get("scheme").str())
		s.BearerFormat = body.get("bearerFormat").str()
		if s.HTTPScheme == "" {
			switch alphanumeric(s.TypeRaw) {
			case "bearer", "jwt", "httpbearer":
				s.HTTPScheme = "bearer"
			case "basic", "httpbasic":
				s.HTTPScheme = "basic"
			}
		}
	case typeAPIKey:
		s.APIKeyIn = apiKeyPlace(body)
		s.APIKeyName = body.get("name").str()
	case typeOAuth2:
		s.OAuthFlows = readFlows(body.get("flows"))
	case typeOpenID:
		s.OpenIDConnectURL = body.get("openIdConnectUrl").str()
	}
	return s
}

// readFlows names the OAuth flows; 0.3 allows several, 1.0 one.
func readFlows(v *value) []string {
	if name := v.get("flow").get("$case").str(); name != "" { // form D
		return []string{name}
	}
	var out []string
	for _, flow := range []string{"authorizationCode", "clientCredentials", "deviceCode", "implicit", "password"} {
		if v.get(flow).has() {
			out = append(out, flow)
		}
	}
	return out
}

// readLegacyAuth gathers the names in the authentication block of 0.1:
// {"schemes":["Bearer"]}, and what authors made of it: a plain text, a list of
// texts or of {"type":...}, {"type":...}.
func readLegacyAuth(v *value) []string {
	var out ordered
	one := func(v *value) {
		name := v.str()
		for _, key := range []string{"type", "scheme"} {
			if name == "" {
				name = v.get(key).str()
			}
		}
		out.add(strings.ToLower(strings.TrimSpace(name)))
	}
	many := func(v *value) {
		for i := range v.items() {
			one(&v.members[i].value)
		}
	}
	one(v)
	many(v)
	schemes := v.get("schemes")
	one(schemes)
	many(schemes)
	return out.list
}

// readRequirements reads securityRequirements of 1.0 or, without any, security
// of 0.2 and 0.3. Either name is found with either layout.
func (c *Card) readRequirements(o *value) {
	alternatives := o.get("securityRequirements").items()
	if len(alternatives) == 0 {
		alternatives = o.get("security").items()
	}
	for i := range alternatives {
		r, ok := readRequirement(&alternatives[i].value)
		if !ok {
			continue
		}
		if len(r.Schemes) == 0 {
			c.AuthRequired = "optional"
		} else if c.AuthRequired == "" {
			c.AuthRequired = "required"
		}
		c.Requirements = append(c.Requirements, r)
	}
}

// readRequirement reads {"google":["openid"]} or {"schemes":{"google":X}} where
// X is {"list":["openid"]} or, from a2a-go 2.x, ["openid"].
func readRequirement(v *value) (r Requirement, ok bool) {
	if name := v.str(); name != "" {
		return Requirement{Schemes: []RequiredScheme{{Name: name}}}, true
	}
	if v.kind != object {
		return Requirement{}, false
	}
	// A list under "schemes" is a scheme of that name with its scopes.
	if inner := v.exact("schemes"); len(v.members) == 1 && inner.kind != list && inner.kind != absent {
		v = inner
	}
	for _, m := range v.entries() {
		scopes := m.strs()
		if m.kind == object {
			scopes = m.exact("list").strs()
		}
		r.Schemes = append(r.Schemes, RequiredScheme{Name: m.key, Scopes: scopes})
	}
	return r, true
}
