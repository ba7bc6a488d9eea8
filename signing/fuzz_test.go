package signing

import (
	"crypto/ed25519"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzVerify throws signature headers at the verifier. What it accepts must be
// what it says: by the key, over the base it shows, with the least coverage.
func FuzzVerify(f *testing.F) {
	key := testKey(f, 1)
	for _, form := range []Form{FormDictionary, FormLegacyString} {
		h := signed(f, form, key).Header
		f.Add(h.Get("Signature-Input"), h.Get("Signature"), h.Get("Signature-Agent"), "/robots.txt")
	}
	f.Add(`sig1=();created=1767225600;expires=1767225900;keyid="a";tag="web-bot-auth"`, `sig1=::`, `sig1="https://bot.example"`, "/")
	f.Add(`sig1=("@query-param";name="%zz" "signature-agent";key="a";bs "@authority";req);created=1;expires=2;keyid="a";tag="web-bot-auth"`,
		`sig1=:AAAA:`, `a=(1 2);b, sig1`, "/?%zz&a=%e")
	f.Add(`a=1, sig1=("host" "@target-uri";x=@1 date);tag="web-bot-auth";created=1.5`, `a, sig1=?1`, `"\\"`, "*")
	f.Add("sig1=(\"x\";key=%\"f%c3%bc\")", ":", "\x00", "\xff")
	verifiers := []*Verifier{
		NewVerifier(VerifierConfig{Keys: []PublicKey{key.PublicKey}, MaxLifetime: 1 << 40}),
		NewVerifier(VerifierConfig{Keys: []PublicKey{key.PublicKey}, Agent: botOrigin, Strict: true, Nonces: NewNonceMemory(8)}),
	}
	f.Fuzz(func(t *testing.T, input, signature, agent, path string) {
		r := Request{Method: "GET", Authority: "shop.example", Path: path, Header: http.Header{
			"User-Agent": {botAgent}, "Signature-Input": {input}, "Signature": {signature}, "Signature-Agent": {agent},
		}}
		for _, v := range verifiers {
			got := v.Verify(r, noon)
			if !got.OK() {
				continue
			}
			inputs, signatures, err := signatureHeaders(r.message())
			if err != nil {
				t.Fatal(err)
			}
			s, err := readSignature(got.Label, inputs, signatures, r.Header[headerSignature])
			if err != nil {
				t.Fatal(err)
			}
			if !ed25519.Verify(key.Public, []byte(got.Base), s.value) || got.KeyID != key.ID {
				t.Errorf("accepted %+v", got)
			}
			if !slices.Contains(got.Covered, `"@authority"`) && !slices.Contains(got.Covered, `"@target-uri"`) {
				t.Errorf("accepted over %q", got.Covered)
			}
			if !strings.HasPrefix(got.Agent, "https://") || got.Created.After(noon) || !got.Expires.After(noon.Truncate(time.Second)) {
				t.Errorf("accepted %+v", got)
			}
		}
	})
}

// FuzzParseDirectory throws JWK Sets at the reader. What it accepts has IDs that
// are thumbprints, each once, and can be written and read again.
func FuzzParseDirectory(f *testing.F) {
	body, _, err := Directory(keySet(f, testKey(f, 1), testKey(f, 2)), botHost, noon)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Add([]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","nbf":1e3}]}`))
	f.Add([]byte(`{"keys":[{"kty":1}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		keys, err := ParseDirectory(body)
		if err != nil {
			return
		}
		seen := make(map[string]bool)
		for _, k := range keys {
			if k.ID != Thumbprint(k.Public) || len(k.ID) != 43 || seen[k.ID] {
				t.Errorf("key %+v", k)
			}
			seen[k.ID] = true
		}
	})
}
