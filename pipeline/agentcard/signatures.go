package agentcard

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"
)

// readSignatures describes the signatures of a card. Other things called signed
// cards, such as a single "signature" key, are none of A2A's.
func (c *Card) readSignatures(v *value) {
	c.SignaturesCount = len(v.items())
	c.Signatures = slices.Grow(c.Signatures, c.SignaturesCount)
	for i := range v.items() {
		s := readSignature(&v.members[i].value)
		c.Signed = c.Signed || s.WellFormed
		c.Signatures = append(c.Signatures, s)
	}
}

func readSignature(v *value) Signature {
	header := protectedHeader(v.get("protected").str())
	signature := v.get("signature").str()
	s := Signature{
		Alg:        header.exact("alg").str(),
		Kid:        header.exact("kid").str(),
		Typ:        header.exact("typ").str(),
		JKU:        header.exact("jku").str(),
		HasJWK:     header.exact("jwk").has(),
		HasX5C:     header.exact("x5c").has(),
		HasX5U:     header.exact("x5u").has(),
		HasB64:     header.exact("b64").has(),
		HasCrit:    header.exact("crit").has(),
		HeaderKeys: keys(v.get("header")),
	}
	s.WellFormed = s.Alg != "" && signature != ""
	s.JKUHost, s.JKUKind = splitHost(s.JKU)
	s.Unverifiable = strings.EqualFold(s.Alg, "none") || strings.HasPrefix(s.Alg, "HS")
	if raw, ok := decodeBase64URL(signature); ok {
		s.LengthPlausible = plausibleLength(s.Alg, len(raw))
	}
	return s
}

// protectedHeader decodes a JWS protected header (RFC 7515 section 4); anything
// but an object comes back as a missing value.
func protectedHeader(s string) *value {
	raw, ok := decodeBase64URL(s)
	if !ok || !utf8.Valid(raw) {
		return missing
	}
	header, _, err := parseJSON(string(raw))
	if err != nil || header.kind != object {
		return missing
	}
	return &header
}

// decodeBase64URL decodes base64url (RFC 7515 section 2) and tolerates padding.
func decodeBase64URL(s string) ([]byte, bool) {
	if s == "" {
		return nil, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
	return raw, err == nil
}

// plausibleLength compares the bytes of a signature with what alg makes (RFC
// 7518 section 3, RFC 8037); nil for an alg it does not know.
func plausibleLength(alg string, n int) *bool {
	var ok bool
	switch alg {
	case "ES256", "ES256K", "Ed25519", "HS512":
		ok = n == 64
	case "EdDSA": // Ed25519 or Ed448
		ok = n == 64 || n == 114
	case "ES384":
		ok = n == 96
	case "ES512":
		ok = n == 132
	case "RS256", "RS384", "RS512", "PS256", "PS384", "PS512":
		ok = n >= 256 // a key of 2048 bits or more
	case "HS256":
		ok = n == 32
	case "HS384":
		ok = n == 48
	default:
		return nil
	}
	return &ok
}

// keys are the keys of an object, sorted.
func keys(v *value) []string {
	if v.kind != object {
		return nil
	}
	var out []string
	for i := range v.members {
		out = append(out, v.members[i].key)
	}
	slices.Sort(out)
	return out
}
