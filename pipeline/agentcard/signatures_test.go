package agentcard

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func encode(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

func TestSignatures(t *testing.T) {
	sig := func(n int) string { return encode(strings.Repeat("\xff", n)) }
	for _, test := range []struct {
		name, entry string
		want        Signature
	}{
		{"all headers", `{"protected":"` + encode(`{"alg":"EdDSA","kid":"k","typ":"JOSE","jku":"https://k.example/j","jwk":{},"x5c":[],"x5u":"u","b64":false,"crit":["b64"]}`) +
			`","signature":"` + sig(64) + `","header":{"z":1,"a":2}}`,
			Signature{WellFormed: true, Alg: "EdDSA", Kid: "k", Typ: "JOSE", JKU: "https://k.example/j", JKUHost: "k.example", JKUKind: HostUnrelated,
				HasJWK: true, HasX5C: true, HasX5U: true, HasB64: true, HasCrit: true, LengthPlausible: new(true), HeaderKeys: []string{"a", "z"}}},
		{"padded", `{"protected":"` + base64.URLEncoding.EncodeToString([]byte(`{"alg":"ES256"}`)) + `","signature":"` + sig(64) + `=="}`,
			Signature{WellFormed: true, Alg: "ES256", JKUKind: HostEmpty, LengthPlausible: new(true)}},
		{"wrong length", `{"protected":"` + encode(`{"alg":"ES256"}`) + `","signature":"` + sig(63) + `"}`,
			Signature{WellFormed: true, Alg: "ES256", JKUKind: HostEmpty, LengthPlausible: new(false)}},
		{"DER where 64 bytes belong", `{"protected":"` + encode(`{"alg":"RS256"}`) + `","signature":"` + sig(71) + `"}`,
			Signature{WellFormed: true, Alg: "RS256", JKUKind: HostEmpty, LengthPlausible: new(false)}},
		{"unknown alg", `{"protected":"` + encode(`{"alg":"ML-DSA-44"}`) + `","signature":"` + sig(3) + `"}`,
			Signature{WellFormed: true, Alg: "ML-DSA-44", JKUKind: HostEmpty}},
		{"alg none", `{"protected":"` + encode(`{"alg":"none"}`) + `","signature":"AA"}`,
			Signature{WellFormed: true, Alg: "none", JKUKind: HostEmpty, Unverifiable: true}},
		{"shared secret", `{"protected":"` + encode(`{"alg":"HS256"}`) + `","signature":"` + sig(32) + `"}`,
			Signature{WellFormed: true, Alg: "HS256", JKUKind: HostEmpty, LengthPlausible: new(true), Unverifiable: true}},
		{"signature no base64url", `{"protected":"` + encode(`{"alg":"ES256"}`) + `","signature":"+/+/"}`,
			Signature{WellFormed: true, Alg: "ES256", JKUKind: HostEmpty}},
		{"no signature", `{"protected":"` + encode(`{"alg":"ES256"}`) + `","signature":""}`, Signature{Alg: "ES256", JKUKind: HostEmpty}},
		{"no alg", `{"protected":"` + encode(`{"kid":"k"}`) + `","signature":"AA"}`, Signature{Kid: "k", JKUKind: HostEmpty}},
		{"header no base64url", `{"protected":"{}","signature":"AA"}`, Signature{JKUKind: HostEmpty}},
		{"header no JSON", `{"protected":"` + encode(`alg`) + `","signature":"AA"}`, Signature{JKUKind: HostEmpty}},
		{"header no object", `{"protected":"` + encode(`["alg"]`) + `","signature":"AA"}`, Signature{JKUKind: HostEmpty}},
		{"header no UTF-8", `{"protected":"` + encode("{\"alg\":\"\xff\"}") + `","signature":"AA"}`, Signature{JKUKind: HostEmpty}},
		{"another kind of entry", `{"algorithm":"ES256","signature":"AA","jwksUrl":"https://k.example/j"}`, Signature{JKUKind: HostEmpty}},
		{"no object", `"signed"`, Signature{JKUKind: HostEmpty}},
	} {
		_, c := Read(cardWith(`"signatures":[` + test.entry + `]`))
		if c.SignaturesCount != 1 || c.Signed != test.want.WellFormed {
			t.Errorf("%s: %d signatures, signed %t", test.name, c.SignaturesCount, c.Signed)
		}
		if diff := cmp.Diff([]Signature{test.want}, c.Signatures); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.name, diff)
		}
	}
}

func TestOneGoodSignatureAmongSeveralCounts(t *testing.T) {
	good := `{"protected":"` + encode(`{"alg":"ES256"}`) + `","signature":"AA"}`
	_, c := Read(cardWith(`"signatures":[null,{},` + good + `]`))
	if !c.Signed || c.SignaturesCount != 3 {
		t.Errorf("signed %t, %d", c.Signed, c.SignaturesCount)
	}
	for _, members := range []string{`"signature":"AA"`, `"signatures":{}`, `"signatures":"yes"`, `"signatures":[]`} {
		if _, c := Read(cardWith(members)); c.Signed || c.SignaturesCount != 0 || c.Signatures != nil {
			t.Errorf("%s: signed %t, %d", members, c.Signed, c.SignaturesCount)
		}
	}
}
