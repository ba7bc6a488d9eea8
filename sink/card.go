package sink

// Card is a row of the table cards: one publisher and its Agent Card as one
// crawl found it. Whatever the card says is untrusted text, stored whole.
//
// NULL means that the card (or the response) does not state it; false means that
// it states so. An empty text in a card counts as not stated, since protobuf's
// JSON writes it for want of one; an empty header field is "". Lists are never
// NULL: what is not stated is empty.
type Card struct {
	Rank         int64   `parquet:"rank" doc:"position of the site in the list, from 1"`
	Site         string  `parquet:"site" doc:"the list entry: a lower-case A-label name"`
	Path         string  `parquet:"path,dict" doc:"well-known path that was asked for the card, before redirects"`
	CardURL      string  `parquet:"card_url" doc:"URL that answered with the card, after redirects"`
	FetchedAt    int64   `parquet:"fetched_at,timestamp(microsecond)" doc:"when the last request of the fetch was sent, UTC"`
	HTTPStatus   int32   `parquet:"http_status" doc:"status code of the answer that held the card"`
	LatencyMS    *int64  `parquet:"latency_ms,optional" doc:"milliseconds the last request took; NULL when not measured"`
	ContentType  *string `parquet:"content_type,optional,dict" doc:"Content-Type as sent; NULL without the header"`
	CacheControl *string `parquet:"cache_control,optional,dict" doc:"Cache-Control as sent; NULL without the header"`
	ETag         *string `parquet:"etag,optional" doc:"ETag as sent; NULL without the header"`
	LastModified *string `parquet:"last_modified,optional" doc:"Last-Modified as sent; NULL without the header"`
	BodyBytes    int64   `parquet:"body_bytes" doc:"length of the body in bytes after content decoding"`
	BodySHA256   string  `parquet:"body_sha256" doc:"SHA-256 of the decoded body, lower-case hex"`
	CanonSHA256  string  `parquet:"canonical_sha256" doc:"SHA-256 of the card with sorted keys and without signatures, lower-case hex: equal for copies that differ in layout only"`

	Rule                     string  `parquet:"rule,dict" doc:"the rule by which the body counts as a card: R1 to R6"`
	Name                     *string `parquet:"name,optional" doc:"name of the agent"`
	Description              *string `parquet:"description,optional" doc:"description of the agent"`
	AgentVersion             *string `parquet:"agent_version,optional" doc:"the agent's own version, not that of the protocol"`
	ProviderOrganization     *string `parquet:"provider_organization,optional" doc:"who provides the agent"`
	ProviderOrganizationFrom *string `parquet:"provider_organization_from,optional,dict" doc:"where provider_organization was found: organization, name, or string"`
	ProviderURL              *string `parquet:"provider_url,optional" doc:"the provider's URL"`
	DocumentationURL         *string `parquet:"documentation_url,optional" doc:"documentation of the agent"`
	IconURL                  *string `parquet:"icon_url,optional" doc:"icon of the agent"`

	A2AVersion       string   `parquet:"a2a_version,dict" doc:"A2A version, major.minor, or unknown"`
	VersionSource    string   `parquet:"version_source,dict" doc:"what a2a_version rests on: interface, card, card_list, shape, or none"`
	CardShape        string   `parquet:"card_shape,dict" doc:"generation by the fields present: 0.x, 1.x, or union"`
	DeclaredVersions []string `parquet:"declared_versions,list" doc:"every protocol version the card declares, as written, distinct"`
	Supports10       bool     `parquet:"supports_1_0" doc:"an interface or the card declares 1.x"`
	Supports03       bool     `parquet:"supports_0_3" doc:"an interface or the card declares 0.3"`
	VersionConflict  bool     `parquet:"version_conflict" doc:"the declared version cannot have the card's shape"`

	Interfaces     []Interface `parquet:"interfaces,list" doc:"endpoints, distinct by URL and binding, preferred first; the first 4096"`
	Bindings       []string    `parquet:"bindings,list" doc:"distinct bindings of the interfaces"`
	InterfaceHosts []string    `parquet:"interface_hosts,list" doc:"distinct host[:port] of the interfaces, lower case"`

	Streaming              *bool `parquet:"streaming,optional" doc:"capabilities.streaming"`
	PushNotifications      *bool `parquet:"push_notifications,optional" doc:"capabilities.pushNotifications"`
	StateTransitionHistory *bool `parquet:"state_transition_history,optional" doc:"capabilities.stateTransitionHistory (0.1 to 0.3)"`
	ExtendedCard           *bool `parquet:"extended_card,optional" doc:"an extended card exists for authenticated clients"`

	Extensions  []Extension `parquet:"extensions,list" doc:"capabilities.extensions; the first 4096"`
	InputModes  []string    `parquet:"input_modes,list" doc:"defaultInputModes: media types or short words"`
	OutputModes []string    `parquet:"output_modes,list" doc:"defaultOutputModes: media types or short words"`

	SkillsCount int32   `parquet:"skills_count" doc:"length of the skills array, odd entries included; 0 when there is none"`
	SkillsKind  string  `parquet:"skills_kind,dict" doc:"what skills is: array, null, absent, or other"`
	Skills      []Skill `parquet:"skills,list" doc:"skills in the card's order; the first 4096"`

	SecuritySchemes []SecurityScheme `parquet:"security_schemes,list" doc:"declared security schemes; the first 4096"`
	SchemeTypes     []string         `parquet:"auth_scheme_types,list" doc:"distinct scheme types: apiKey, http, oauth2, openIdConnect, mutualTLS, none, other"`
	HTTPSchemes     []string         `parquet:"http_schemes,list" doc:"distinct HTTP authentication schemes, lower case"`
	APIKeyLocations []string         `parquet:"api_key_locations,list" doc:"distinct places of API keys: header, query, cookie"`
	OAuthFlows      []string         `parquet:"oauth_flows,list" doc:"distinct OAuth flows"`
	LegacyAuth      []string         `parquet:"legacy_auth_schemes,list" doc:"schemes of the 0.1 authentication block, lower case, free text"`
	AuthRequired    *string          `parquet:"auth_required,optional,dict" doc:"required, optional (anonymous is one alternative), or NULL when no requirement is declared"`
	Requirements    []Requirement    `parquet:"security_requirements,list" doc:"alternatives, any one of which suffices; the first 4096"`

	Signed          bool        `parquet:"signed" doc:"at least one signature is well formed; nothing is verified"`
	SignaturesCount int32       `parquet:"signatures_count" doc:"length of the signatures array, odd entries included"`
	Signatures      []Signature `parquet:"signatures,list" doc:"signatures as declared, the first 4096; nothing is verified"`

	Warnings []string `parquet:"warnings,list" doc:"conformance codes for the card's generation, such as missing_skills"`
	CardJSON *string  `parquet:"card_json,optional" doc:"the body as UTF-8 text; card_json->>'$.name' works on it"`
}

// listed is about how many values stand in the columns of the row's lists.
func (c *Card) listed() int {
	n := 10*len(c.Interfaces) + 3*len(c.Extensions) + 3*len(c.Skills) + 9*len(c.SecuritySchemes) + 15*len(c.Signatures) + len(c.Requirements) +
		len(c.DeclaredVersions) + len(c.Bindings) + len(c.InterfaceHosts) + len(c.InputModes) + len(c.OutputModes) + len(c.LegacyAuth)
	for _, s := range c.Skills {
		n += len(s.Tags)
	}
	for _, s := range c.Signatures {
		n += len(s.HeaderKeys)
	}
	for _, r := range c.Requirements {
		for _, s := range r.Schemes {
			n += 1 + len(s.Scopes)
		}
	}
	return n
}

// Interface is one endpoint that a card lists.
type Interface struct {
	URL              string  `parquet:"url" doc:"URL as written"`
	Binding          string  `parquet:"binding,dict" doc:"JSONRPC, GRPC, HTTP+JSON, or the text as written; empty when none is given"`
	BindingRaw       string  `parquet:"binding_raw,dict" doc:"binding as written; empty when none is given"`
	BindingDefaulted bool    `parquet:"binding_defaulted" doc:"the card names no transport for its url: JSONRPC by default"`
	Version          *string `parquet:"version,optional,dict" doc:"A2A version of this endpoint, major.minor"`
	VersionRaw       *string `parquet:"version_raw,optional,dict" doc:"the same as written"`
	Tenant           *string `parquet:"tenant,optional" doc:"tenant of this endpoint"`
	DeclaredIn       string  `parquet:"declared_in,dict" doc:"field it stands in: supportedInterfaces, url, or additionalInterfaces"`
	Host             *string `parquet:"host,optional" doc:"host[:port], lower case; NULL when the URL has none"`
	HostKind         string  `parquet:"host_kind,dict" doc:"same_host, same_site, other_site, loopback, private, relative, placeholder, empty, or invalid"`
}

// Extension is one entry of capabilities.extensions.
type Extension struct {
	URI         *string `parquet:"uri,optional" doc:"extension URI"`
	Description *string `parquet:"description,optional" doc:"what the card says of it"`
	Required    *bool   `parquet:"required,optional" doc:"clients must support it"`
}

// Skill is one skill of a card.
type Skill struct {
	ID   *string  `parquet:"id,optional" doc:"skill ID"`
	Name *string  `parquet:"name,optional" doc:"skill name"`
	Tags []string `parquet:"tags,list" doc:"tags as written"`
}

// SecurityScheme is one declared security scheme.
type SecurityScheme struct {
	Name             string   `parquet:"name" doc:"name under which the card declares it"`
	Type             string   `parquet:"type,dict" doc:"apiKey, http, oauth2, openIdConnect, mutualTLS, none, or other"`
	TypeRaw          *string  `parquet:"type_raw,optional,dict" doc:"what told the type, as written; NULL when it was inferred"`
	HTTPScheme       *string  `parquet:"http_scheme,optional,dict" doc:"HTTP authentication scheme, lower case"`
	BearerFormat     *string  `parquet:"bearer_format,optional,dict" doc:"hint at the bearer token's format"`
	APIKeyIn         *string  `parquet:"api_key_in,optional,dict" doc:"place of the API key: header, query, or cookie"`
	APIKeyName       *string  `parquet:"api_key_name,optional,dict" doc:"name of the header, parameter, or cookie"`
	OAuthFlows       []string `parquet:"oauth_flows,list" doc:"OAuth flows offered"`
	OpenIDConnectURL *string  `parquet:"openid_connect_url,optional" doc:"OpenID Connect discovery URL"`
}

// Requirement is one alternative of a card's security requirements: all of its
// schemes together. Without a scheme it allows anonymous access.
type Requirement struct {
	Schemes []RequiredScheme `parquet:"schemes,list" doc:"schemes needed together; none means anonymous"`
}

// RequiredScheme is one scheme that a Requirement names.
type RequiredScheme struct {
	Name   string   `parquet:"name" doc:"name of a security scheme"`
	Scopes []string `parquet:"scopes,list" doc:"scopes asked for"`
}

// Signature is one entry of a card's signatures, never verified.
type Signature struct {
	WellFormed      bool     `parquet:"well_formed" doc:"the protected header decodes and names an algorithm, and there is a signature"`
	Alg             *string  `parquet:"alg,optional,dict" doc:"JWS algorithm of the protected header"`
	Kid             *string  `parquet:"kid,optional" doc:"key ID of the protected header"`
	Typ             *string  `parquet:"typ,optional,dict" doc:"type of the protected header"`
	JKU             *string  `parquet:"jku,optional" doc:"key set URL of the protected header"`
	JKUHost         *string  `parquet:"jku_host,optional" doc:"host[:port] of the key set URL"`
	JKUKind         *string  `parquet:"jku_kind,optional,dict" doc:"that host as seen from the site, in the words of interfaces.host_kind; NULL without a key set URL"`
	HasJWK          bool     `parquet:"has_jwk" doc:"the header embeds a key"`
	HasX5C          bool     `parquet:"has_x5c" doc:"the header embeds a certificate chain"`
	HasX5U          bool     `parquet:"has_x5u" doc:"the header names a certificate URL"`
	HasB64          bool     `parquet:"has_b64" doc:"the header has b64 (RFC 7797)"`
	HasCrit         bool     `parquet:"has_crit" doc:"the header has crit"`
	LengthPlausible *bool    `parquet:"length_plausible,optional" doc:"the signature's length fits its algorithm; NULL when unknown"`
	Unverifiable    bool     `parquet:"unverifiable" doc:"algorithm none or HS*: no stranger can verify it"`
	HeaderKeys      []string `parquet:"header_keys,list" doc:"keys of the unprotected header"`
}
