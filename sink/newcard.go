package sink

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"agentcensus/pipeline/agentcard"
)

// Published is what a crawl knows of a card apart from its content. A nil
// header was not sent.
type Published struct {
	Rank       int64
	Site       string
	Path       string // as first asked
	CardURL    string // after redirects
	FetchedAt  time.Time
	HTTPStatus int
	Latency    time.Duration // of the last request; 0 when not measured
	Rule       string        // R1 to R6

	ContentType, CacheControl, ETag, LastModified *string

	Body []byte // decoded, as received
}

// MaxListed is how many entries are kept of each list of structures in a card,
// which bounds its row: an entry of two bytes in a card would else be hundreds.
// Fewer skills than that fit into the largest body that is read, if there is
// anything in them. The counts and card_json tell of all.
const MaxListed = 4096

// NewCard makes the row of one publisher. The card's host kinds are those of
// [agentcard.Card.Relate]; call it before.
func NewCard(p Published, c agentcard.Card) Card {
	digest := sha256.Sum256(p.Body)
	row := Card{
		Rank: p.Rank, Site: p.Site, Path: p.Path, CardURL: p.CardURL,
		FetchedAt: p.FetchedAt.UnixMicro(), HTTPStatus: int32(p.HTTPStatus),
		ContentType: legible(p.ContentType), CacheControl: legible(p.CacheControl),
		ETag: legible(p.ETag), LastModified: legible(p.LastModified),
		BodyBytes: int64(len(p.Body)), BodySHA256: hex.EncodeToString(digest[:]), CanonSHA256: c.CanonicalSHA256,

		Rule: p.Rule, Name: stated(c.Name), Description: stated(c.Description), AgentVersion: stated(c.Version),
		ProviderOrganization: stated(c.Provider.Organization), ProviderOrganizationFrom: stated(c.Provider.From),
		ProviderURL: stated(c.Provider.URL), DocumentationURL: stated(c.DocumentationURL), IconURL: stated(c.IconURL),

		A2AVersion: c.A2AVersion, VersionSource: string(c.VersionSource), CardShape: string(c.Shape),
		DeclaredVersions: c.DeclaredVersions, Supports10: c.Supports10, Supports03: c.Supports03, VersionConflict: c.VersionConflict,

		Interfaces: each(c.Interfaces, newInterface), Bindings: c.Bindings, InterfaceHosts: c.InterfaceHosts,

		Streaming: c.Capabilities.Streaming, PushNotifications: c.Capabilities.PushNotifications,
		StateTransitionHistory: c.Capabilities.StateTransitionHistory, ExtendedCard: c.Capabilities.ExtendedCard,
		Extensions: each(c.Extensions, newExtension), InputModes: c.InputModes, OutputModes: c.OutputModes,

		SkillsCount: int32(c.SkillsCount), SkillsKind: string(c.SkillsKind), Skills: each(c.Skills, newSkill),

		SecuritySchemes: each(c.SecuritySchemes, newSecurityScheme), SchemeTypes: c.SchemeTypes, HTTPSchemes: c.HTTPSchemes,
		APIKeyLocations: c.APIKeyLocations, OAuthFlows: c.OAuthFlows, LegacyAuth: c.LegacyAuthSchemes,
		AuthRequired: stated(c.AuthRequired), Requirements: each(c.Requirements, newRequirement),

		Signed: c.Signed, SignaturesCount: int32(c.SignaturesCount), Signatures: each(c.Signatures, newSignature),
		Warnings: c.Warnings, CardJSON: &c.BodyUTF8,
	}
	if p.Latency > 0 {
		ms := p.Latency.Milliseconds()
		row.LatencyMS = &ms
	}
	return row
}

func newInterface(i agentcard.Interface) Interface {
	return Interface{URL: i.URL, Binding: i.Binding, BindingRaw: i.BindingRaw, BindingDefaulted: i.BindingDefaulted,
		Version: stated(i.Version), VersionRaw: stated(i.VersionRaw), Tenant: stated(i.Tenant), DeclaredIn: i.From,
		Host: stated(i.Host), HostKind: string(i.HostKind)}
}

func newExtension(e agentcard.Extension) Extension {
	return Extension{URI: stated(e.URI), Description: stated(e.Description), Required: e.Required}
}

func newSkill(s agentcard.Skill) Skill {
	return Skill{ID: stated(s.ID), Name: stated(s.Name), Tags: s.Tags}
}

func newSecurityScheme(s agentcard.SecurityScheme) SecurityScheme {
	return SecurityScheme{Name: s.Name, Type: s.Type, TypeRaw: stated(s.TypeRaw), HTTPScheme: stated(s.HTTPScheme),
		BearerFormat: stated(s.BearerFormat), APIKeyIn: stated(s.APIKeyIn), APIKeyName: stated(s.APIKeyName),
		OAuthFlows: s.OAuthFlows, OpenIDConnectURL: stated(s.OpenIDConnectURL)}
}

func newRequirement(r agentcard.Requirement) Requirement {
	return Requirement{Schemes: each(r.Schemes, func(s agentcard.RequiredScheme) RequiredScheme {
		return RequiredScheme{Name: s.Name, Scopes: s.Scopes}
	})}
}

func newSignature(s agentcard.Signature) Signature {
	row := Signature{WellFormed: s.WellFormed, Alg: stated(s.Alg), Kid: stated(s.Kid), Typ: stated(s.Typ),
		JKU: stated(s.JKU), JKUHost: stated(s.JKUHost), HasJWK: s.HasJWK, HasX5C: s.HasX5C, HasX5U: s.HasX5U,
		HasB64: s.HasB64, HasCrit: s.HasCrit, LengthPlausible: s.LengthPlausible, Unverifiable: s.Unverifiable,
		HeaderKeys: s.HeaderKeys}
	if s.JKU != "" {
		row.JKUKind = stated(string(s.JKUKind))
	}
	return row
}

// stated is NULL for "": package agentcard reads an empty text as not said.
func stated(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// legible makes a header value UTF-8. It may hold any byte (RFC 9110 section
// 5.5), and one that is no UTF-8 would make DuckDB refuse the whole file.
func legible(header *string) *string {
	if header == nil {
		return nil
	}
	text := strings.ToValidUTF8(*header, "\uFFFD")
	return &text
}

// each converts the first MaxListed of a list.
func each[A, B any](list []A, convert func(A) B) []B {
	list = list[:min(len(list), MaxListed)]
	out := make([]B, 0, len(list))
	for _, a := range list {
		out = append(out, convert(a))
	}
	return out
}
