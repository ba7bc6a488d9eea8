package agentcard

// Card holds the facts of one agent card.
//
// Every text is as the card has it, whole and untrusted; see [Printable]. The
// zero value of a field means that the card does not say: null, "", [] and {}
// are read as absent, because serialisers of each generation write one or the
// other for the same thing. Booleans that may be absent are pointers.
type Card struct {
	Name             string
	Description      string
	Version          string // the agent's own version, not the protocol's
	DocumentationURL string
	IconURL          string

	// Provider is the publisher as the card names it.
	Provider Provider

	// A2AVersion is "major.minor" of the protocol, or "unknown".
	A2AVersion string
	// VersionSource says where A2AVersion comes from.
	VersionSource VersionSource
	// Shape is the layout of the card, whatever version it declares.
	Shape Shape
	// DeclaredVersions are the distinct protocol versions as written, those of
	// the interfaces first.
	DeclaredVersions []string
	Supports10       bool // some declaration is of major version 1
	Supports03       bool // some declaration is 0.3
	// VersionConflict: a card of the declared version cannot have this shape.
	VersionConflict bool

	Interfaces     []Interface
	Bindings       []string // distinct Interfaces[].Binding, in order, without ""
	InterfaceHosts []string // distinct Interfaces[].Host, in order, without ""

	Capabilities Capabilities
	Extensions   []Extension

	InputModes  []string // defaultInputModes
	OutputModes []string // defaultOutputModes

	SkillsCount int // length of the array, 0 when it is none
	SkillsKind  SkillsKind
	Skills      []Skill // the entries that are objects or names

	SecuritySchemes   []SecurityScheme // in order of name
	SchemeTypes       []string         // distinct SecuritySchemes[].Type, sorted
	HTTPSchemes       []string         // distinct, sorted: "basic", "bearer", ...
	APIKeyLocations   []string         // distinct, sorted: "header", "query", "cookie"
	OAuthFlows        []string         // distinct, sorted: "authorizationCode", ...
	LegacyAuthSchemes []string         // the 0.1 "authentication" block, lower case; free text

	// AuthRequired is "required", "optional" (an empty requirement allows
	// anonymous calls) or "" when the card lists no requirement.
	AuthRequired string
	Requirements []Requirement // alternatives: one of them suffices

	Signed          bool // some signature is well formed; nothing is said of its validity
	SignaturesCount int  // length of the array
	Signatures      []Signature

	// CanonicalSHA256 is the lower-case hex SHA-256 of the card with sorted keys
	// and without its signatures: equal for cards that differ in layout alone.
	CanonicalSHA256 string

	// Warnings are conformance codes, distinct and sorted.
	Warnings []string

	// BodyUTF8 is the body as UTF-8 text: transcoded when it came as UTF-16 or
	// UTF-32, without a byte order mark, otherwise byte for byte.
	BodyUTF8 string
}

// VersionSource names the part of a card that told its protocol version.
type VersionSource string

// The sources of a version, the most telling first.
const (
	FromInterface VersionSource = "interface" // supportedInterfaces[].protocolVersion
	FromCard      VersionSource = "card"      // protocolVersion
	FromCardList  VersionSource = "card_list" // protocolVersions[], a draft between 0.3 and 1.0
	FromShape     VersionSource = "shape"     // no declaration; fields that came with a version
	FromNothing   VersionSource = "none"
)

// Shape is the layout of a card.
type Shape string

// The layouts of a card.
const (
	Shape0x    Shape = "0.x"   // url at the top
	Shape1x    Shape = "1.x"   // supportedInterfaces
	ShapeUnion Shape = "union" // both, as SDKs serve while clients migrate
)

// SkillsKind is the JSON type of the skills field.
type SkillsKind string

// The kinds of a skills field.
const (
	SkillsArray  SkillsKind = "array"
	SkillsNull   SkillsKind = "null"
	SkillsAbsent SkillsKind = "absent"
	SkillsOther  SkillsKind = "other"
)

// Provider is the organisation behind a card.
type Provider struct {
	Organization string
	// From is where Organization was found: "organization", "name", "string"
	// (the provider field is a plain text) or "" when there is none.
	From string
	URL  string
}

// Interface is one endpoint of an agent.
type Interface struct {
	URL string // as written
	// Binding is JSONRPC, GRPC or HTTP+JSON for their known spellings, any other
	// as written, "" when none is given.
	Binding    string
	BindingRaw string // as written
	// BindingDefaulted: the card names no transport for its url, which means
	// JSONRPC (A2A 0.3.0 section 5.5.5).
	BindingDefaulted bool
	Version          string // "major.minor" of its protocolVersion, "" when none is readable
	VersionRaw       string // as written
	Tenant           string
	From             string   // the field it stands in: "supportedInterfaces", "url", "additionalInterfaces"
	Host             string   // host[:port] in lower case, "" unless the URL has one
	HostKind         HostKind // complete after [Card.Relate]
}

// HostKind says where an address points, seen from the host of the card.
type HostKind string

// The kinds of host. The first three and HostUnrelated are told apart by
// [Card.Relate]; the others follow from the address alone.
const (
	HostUnrelated   HostKind = ""            // a public host, Relate not called yet
	HostSame        HostKind = "same_host"   // the same name; ports may differ
	HostSite        HostKind = "same_site"   // the same registrable domain
	HostOther       HostKind = "other_site"  //
	HostLoopback    HostKind = "loopback"    // localhost, 127/8, ::1, 0.0.0.0
	HostPrivate     HostKind = "private"     // private addresses and names no public DNS has
	HostRelative    HostKind = "relative"    // a path
	HostPlaceholder HostKind = "placeholder" // an unfilled template
	HostEmpty       HostKind = "empty"       // no URL
	HostInvalid     HostKind = "invalid"     // anything else
)

// Capabilities are the optional features of an agent; nil: not said, or not
// readable as a boolean.
type Capabilities struct {
	Streaming              *bool
	PushNotifications      *bool
	StateTransitionHistory *bool
	ExtendedCard           *bool // under any of its three names
}

// Extension is one entry of capabilities.extensions.
type Extension struct {
	URI         string
	Description string
	Required    *bool
}

// Skill is one entry of skills.
type Skill struct {
	ID   string
	Name string
	Tags []string
}

// SecurityScheme is one entry of securitySchemes in any of its wire forms.
type SecurityScheme struct {
	Name string // its key
	// Type is apiKey, http, oauth2, openIdConnect, mutualTLS, none or other.
	Type             string
	TypeRaw          string // the wrapper key, $case or type text that told it; "" when inferred
	HTTPScheme       string // lower case; for http
	BearerFormat     string
	APIKeyIn         string // lower case; for apiKey
	APIKeyName       string
	OAuthFlows       []string // sorted; for oauth2
	OpenIDConnectURL string
}

// Requirement is a set of schemes a caller needs together; an empty one allows
// anonymous calls.
type Requirement struct {
	Schemes []RequiredScheme // in order of name
}

// RequiredScheme is one scheme of a requirement.
type RequiredScheme struct {
	Name   string
	Scopes []string
}

// Signature describes one entry of signatures (a flattened JWS with detached
// payload, A2A 1.0 section 8.4). Nothing of it has been checked with a key.
type Signature struct {
	// WellFormed: the protected header decodes to an object with an alg, and
	// there is a signature.
	WellFormed bool
	Alg        string
	Kid        string
	Typ        string
	JKU        string
	JKUHost    string   // host[:port] of JKU
	JKUKind    HostKind // complete after [Card.Relate]; HostEmpty without a JKU
	HasJWK     bool
	HasX5C     bool
	HasX5U     bool
	HasB64     bool
	HasCrit    bool
	// LengthPlausible: the signature has a length its alg can make; nil when the
	// alg is unknown or the signature is no base64url.
	LengthPlausible *bool
	// Unverifiable: alg is none or a shared-secret one (HS*), which proves nothing to a stranger.
	Unverifiable bool
	HeaderKeys   []string // keys of the unprotected header, sorted
}
