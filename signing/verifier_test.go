package signing

import (
	"crypto/ed25519"
	"encoding/base64"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// signedBy writes any Signature-Input and signs what the general rules make of it.
func signedBy(t *testing.T, key Key, r Request, name, input string) Request {
	t.Helper()
	r.Header = r.Header.Clone()
	covered := inner(t, input)
	base := must[string](t)(r.message().signatureBase(covered))
	r.Header.Add("Signature-Input", name+"="+input)
	r.Header.Add("Signature", name+"=:"+base64.StdEncoding.EncodeToString(ed25519.Sign(key.private.key, []byte(base)))+":")
	return r
}

func TestGoodSignaturesVerifyInBothForms(t *testing.T) {
	for _, form := range []Form{FormDictionary, FormLegacyString} {
		t.Run(string(form), func(t *testing.T) {
			key := testKey(t, 1)
			v := NewVerifier(VerifierConfig{Keys: []PublicKey{key.PublicKey}, Agent: botOrigin, Strict: true})
			r := signed(t, form, key)
			for when, want := range map[time.Duration]Reason{
				0: Verified, 299 * time.Second: Verified, 300 * time.Second: Expired, -time.Second: CreatedFuture,
			} {
				got := v.Verify(r, noon.Truncate(time.Second).Add(when))
				if got.Reason != want {
					t.Errorf("%v after created: %v, want %q", when, got, want)
				}
				if got.Agent != botOrigin || got.KeyID != key.ID || got.Label != "sig1" || len(got.Covered) != 5 {
					t.Errorf("verdict %+v", got)
				}
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	key := testKey(t, 1)
	const (
		covered = `("@method" "@authority" "@path" "user-agent" "signature-agent";key="sig1")`
		times   = `;created=1767225600;expires=1767225900`
		tag     = `;tag="web-bot-auth"`
	)
	id := `;keyid="` + key.ID + `"`
	nonce := `;nonce="` + base64.StdEncoding.EncodeToString(make([]byte, NonceSize)) + `"`
	good := covered + times + nonce + id + `;alg="ed25519"` + tag

	expired, future := key, key
	expired.Expires = noon
	future.NotBefore = noon.Add(time.Second)

	for _, tc := range []struct {
		name   string
		input  string                // signed; "": good
		agent  string                // Signature-Agent; "": sig1="https://bot.example"
		spoil  func(http.Header)     // after signing
		change func(*VerifierConfig) // the verifier
		send   func(*Request)        // after signing
		want   Reason
	}{
		{name: "nothing is wrong", want: Verified},
		{name: "no Signature-Input", spoil: func(h http.Header) { h.Del("Signature-Input") }, want: MissingHeader},
		{name: "no Signature", spoil: func(h http.Header) { h.Del("Signature") }, want: MissingHeader},
		{name: "no Signature-Agent", spoil: func(h http.Header) { h.Del("Signature-Agent") }, want: MissingHeader},
		{name: "Signature-Input is no dictionary", spoil: func(h http.Header) { h.Set("Signature-Input", "sig1=(") }, want: Malformed},
		{name: "Signature is no dictionary", spoil: func(h http.Header) { h.Set("Signature", "sig1=:") }, want: Malformed},
		{name: "Signature is a string", spoil: func(h http.Header) { h.Set("Signature", `sig1="x"`) }, want: Malformed},
		{name: "Signature is short", spoil: func(h http.Header) { h.Set("Signature", "sig1=:AAAA:") }, want: WrongSignature},
		{name: "Signature is another's", spoil: func(h http.Header) { h.Set("Signature", strings.Replace(h.Get("Signature"), "sig1", "sig2", 1)) }, want: WrongLabel},
		{name: "Signature-Agent is no dictionary", spoil: func(h http.Header) { h.Set("Signature-Agent", "sig1=(") }, want: Malformed},
		{name: "Signature-Agent is no string", spoil: func(h http.Header) { h.Set("Signature-Agent", `"https://bot.example`) }, want: Malformed},
		{name: "the method is none", send: func(r *Request) { r.Method = "GET /" }, want: Malformed},
		{name: "the path is relative", send: func(r *Request) { r.Path = "robots.txt" }, want: Malformed},
		{name: "no tag", input: covered + times + id, want: WrongTag},
		{name: "another tag", input: covered + times + id + `;tag="web-bot"`, want: WrongTag},
		{name: "a tag that is a token", input: covered + times + id + `;tag=web-bot-auth`, want: WrongTag},
		{name: "no created", input: covered + `;expires=1767225900` + id + tag, want: MissingParameter},
		{name: "no expires", input: covered + `;created=1767225600` + id + tag, want: MissingParameter},
		{name: "no keyid", input: covered + times + tag, want: MissingParameter},
		{name: "created is a decimal", input: covered + `;created=1767225600.0;expires=1767225900` + id + tag, want: Malformed},
		{name: "created is a string", input: covered + `;created="1767225600";expires=1767225900` + id + tag, want: Malformed},
		{name: "keyid is a token", input: covered + times + `;keyid=a` + tag, want: Malformed},
		{name: "nonce is an integer", input: covered + times + `;nonce=1` + id + tag, want: Malformed},
		{name: "more components than anyone needs", spoil: func(h http.Header) {
			h.Set("Signature-Input", "sig1=("+strings.Repeat(`"@authority" `, maxComponents+1)+")"+times+id+tag)
		}, want: Malformed},
		{name: "an HMAC", input: covered + times + id + `;alg="hmac-sha256"` + tag, want: WrongAlgorithm},
		{name: "an empty alg", input: covered + times + id + `;alg=""` + tag, want: WrongAlgorithm},
		// The fault of GHSA-x9cc-346q-g27m: a signature over nothing.
		{name: "nothing is covered", input: `()` + times + id + tag, want: Coverage},
		{name: "no authority", input: `("@method" "signature-agent";key="sig1")` + times + id + tag, want: Coverage},
		{name: "the target URI will do", input: `("@target-uri" "signature-agent";key="sig1")` + times + id + tag, want: Verified},
		{name: "no agent", input: `("@authority")` + times + id + tag, want: Coverage},
		{name: "the whole agent header of a dictionary", input: `("@authority" "signature-agent")` + times + id + tag, want: Coverage},
		{name: "another member, as draft -00 E.2.1 has it", input: `("@authority" "signature-agent";key="other")` + times + id + tag,
			agent: `other="https://bot.example"`, want: Verified},
		{name: "two members, the label's decides", input: `("@authority" "signature-agent";key="other" "signature-agent";key="sig1")` + times + id + tag,
			agent: `other="https://else.example", sig1="https://bot.example"`, want: Verified},
		{name: "the legacy header", input: `("@authority" "signature-agent")` + times + id + tag, agent: `"https://bot.example"`, want: Verified},
		{name: "the legacy header is not covered", input: `("@authority")` + times + id + tag, agent: `"https://bot.example"`, want: Coverage},
		{name: "a component twice", input: `("@authority" "@authority" "signature-agent";key="sig1")` + times + id + tag,
			spoil: func(http.Header) {}, want: Duplicate},
		{name: "the agent is http", agent: `sig1="http://bot.example"`, want: WrongAgent},
		{name: "the agent is no URL", agent: `sig1="bot"`, want: WrongAgent},
		{name: "the agent is a token", agent: `sig1=bot`, want: WrongAgent},
		{name: "the agent is a list", agent: `sig1=("https://bot.example")`, want: WrongAgent},
		{name: "the agent is a data URL", agent: `sig1="data:application/json,x"`, want: WrongAgent},
		{name: "the agent's type is the default", agent: `sig1="https://bot.example";type=directory`, want: Verified},
		{name: "the agent's type is another", agent: `sig1="https://bot.example";type=cimd`, want: WrongAgent},
		{name: "the agent is another", agent: `sig1="https://else.example"`, want: AgentMismatch},
		{name: "the agent with a slash is another", agent: `sig1="https://bot.example/"`, want: AgentMismatch},
		{name: "any agent when none is asked for", agent: `sig1="https://else.example"`,
			change: func(c *VerifierConfig) { c.Agent = "" }, want: Verified},
		{name: "dated a second ahead", input: covered + `;created=1767225601;expires=1767225900` + id + tag, want: CreatedFuture},
		{name: "expired this second", input: covered + `;created=1767225000;expires=1767225600` + id + tag, want: Expired},
		{name: "expires before created", input: covered + `;created=1767225600;expires=1767225600` + id + tag, want: TooLong},
		{name: "a day long", input: covered + `;created=1767225600;expires=1767312000` + id + tag, want: Verified},
		{name: "longer than a day", input: covered + `;created=1767225600;expires=1767312001` + id + tag, want: TooLong},
		{name: "longer than configured", change: func(c *VerifierConfig) { c.MaxLifetime = 299 * time.Second }, want: TooLong},
		{name: "a key of no directory", change: func(c *VerifierConfig) { c.Keys = nil }, want: KeyUnknown},
		{name: "another key in the directory", change: func(c *VerifierConfig) { c.Keys = []PublicKey{testKey(t, 2).PublicKey} }, want: KeyUnknown},
		{name: "an expired key", change: func(c *VerifierConfig) { c.Keys = []PublicKey{expired.PublicKey} }, want: KeyExpired},
		{name: "a key that has not begun", change: func(c *VerifierConfig) { c.Keys = []PublicKey{future.PublicKey} }, want: KeyNotBegun},
		{name: "a directory that lies about an ID", change: func(c *VerifierConfig) {
			c.Keys = []PublicKey{{ID: key.ID, Public: testKey(t, 2).Public}}
		}, want: WrongSignature},
		{name: "a covered field is gone", spoil: func(h http.Header) { h.Del("User-Agent") }, want: Component},
		{name: "a second line of a covered field", spoil: func(h http.Header) { h.Add("User-Agent", "x") }, want: WrongSignature},
		{name: "another method", send: func(r *Request) { r.Method = "PUT" }, want: WrongSignature},
		{name: "another path", send: func(r *Request) { r.Path = "/" }, want: WrongSignature},
		{name: "another authority", send: func(r *Request) { r.Authority = "else.example" }, want: WrongSignature},
		{name: "another scheme is not covered", send: func(r *Request) { r.Scheme = "http" }, want: Verified},
		{name: "a query is not covered", send: func(r *Request) { r.Path += "?a=b" }, want: Verified},

		{name: "strict", change: strict, want: Verified},
		{name: "strict: over http", change: strict, send: func(r *Request) { r.Scheme = "http" }, want: WrongScheme},
		{name: "strict: longer than ours", input: covered + `;created=1767225600;expires=1767225901` + nonce + id + `;alg="ed25519"` + tag, change: strict, want: TooLong},
		{name: "strict: no alg", input: covered + times + nonce + id + tag, change: strict, want: MissingParameter},
		{name: "strict: no nonce", input: covered + times + id + `;alg="ed25519"` + tag, change: strict, want: NonceMissing},
		{name: "strict: a short nonce", input: covered + times + `;nonce="AAAA"` + id + `;alg="ed25519"` + tag, change: strict, want: NonceMissing},
		{name: "strict: not all five", input: `("@authority" "@path" "user-agent" "signature-agent";key="sig1")` + times + nonce + id + `;alg="ed25519"` + tag, change: strict, want: Coverage},
		{name: "strict: another's member", input: `("@method" "@authority" "@path" "user-agent" "signature-agent";key="other")` + times + nonce + id + `;alg="ed25519"` + tag,
			agent: `other="https://bot.example"`, change: strict, want: Coverage},
		{name: "strict: a second signature", change: strict, spoil: func(h http.Header) { h.Add("Signature", "sig2=:AAAA:") }, want: WrongLabel},
	} {
		t.Run(tc.name, func(t *testing.T) {
			input, agent := tc.input, tc.agent
			if input == "" {
				input = good
			}
			if agent == "" {
				agent = `sig1="https://bot.example"`
			}
			r := Request{Method: "GET", Authority: "shop.example", Path: "/robots.txt",
				Header: http.Header{"User-Agent": {botAgent}, "Signature-Agent": {agent}}}
			if tc.want == Duplicate { // no base can be made of it to sign
				r.Header.Set("Signature-Input", "sig1="+input)
				r.Header.Set("Signature", "sig1=:"+base64.StdEncoding.EncodeToString(make([]byte, 64))+":")
			} else {
				r = signedBy(t, key, r, "sig1", input)
			}
			if tc.spoil != nil {
				tc.spoil(r.Header)
			}
			if tc.send != nil {
				tc.send(&r)
			}
			config := VerifierConfig{Keys: []PublicKey{key.PublicKey}, Agent: botOrigin}
			if tc.change != nil {
				tc.change(&config)
			}
			v := NewVerifier(config).Verify(r, noon)
			if v.Reason != tc.want {
				t.Errorf("verdict %v, want %q", v, tc.want)
			}
			if v.OK() != (tc.want == Verified) || (!v.OK() && v.Detail == "") {
				t.Errorf("verdict %+v", v)
			}
		})
	}
}

func strict(c *VerifierConfig) { c.Strict = true }

func TestOfSeveralSignaturesOneGoodOneIsEnough(t *testing.T) {
	key, other := testKey(t, 1), testKey(t, 2)
	input := func(k Key, name string) string {
		return `("@authority" "signature-agent";key="` + name + `");created=1767225600;expires=1767225900;keyid="` + k.ID + `";tag="web-bot-auth"`
	}
	empty := Request{Method: "GET", Authority: "shop.example", Path: "/", Header: http.Header{
		"Signature-Agent": {`a="https://else.example", b="https://bot.example"`},
	}}
	v := NewVerifier(VerifierConfig{Keys: []PublicKey{key.PublicKey}, Agent: botOrigin})

	both := signedBy(t, key, signedBy(t, other, empty, "a", input(other, "a")), "b", input(key, "b"))
	if got := v.Verify(both, noon); !got.OK() || got.Label != "b" {
		t.Errorf("verdict %v of %q, want b verified", got, got.Label)
	}
	only := signedBy(t, other, signedBy(t, other, empty, "a", input(other, "a")), "b", input(other, "b"))
	if got := v.Verify(only, noon); got.Reason != AgentMismatch || got.Label != "a" {
		t.Errorf("verdict %v of %q, want the first's", got, got.Label)
	}
	many := empty
	for i := range maxSignatures {
		many = signedBy(t, other, many, string(rune('m'+i)), input(other, "a"))
	}
	many = signedBy(t, key, many, "z", input(key, "b"))
	if got := v.Verify(many, noon); got.OK() {
		t.Errorf("signature %d was tried", maxSignatures+1)
	}
}

func TestANonceIsGoodOnce(t *testing.T) {
	key := testKey(t, 1)
	v := NewVerifier(VerifierConfig{Keys: []PublicKey{key.PublicKey}, Nonces: NewNonceMemory(10)})
	r := signed(t, FormDictionary, key)
	forged := r
	forged.Path = "/other"
	if got := v.Verify(forged, noon); got.Reason != WrongSignature {
		t.Errorf("forged: %v", got)
	}
	if got := v.Verify(r, noon); !got.OK() {
		t.Errorf("first: %v: the forged request used the nonce up", got)
	}
	if got := v.Verify(r, noon); got.Reason != NonceReused {
		t.Errorf("again: %v", got)
	}
	if got := v.Verify(signed(t, FormDictionary, key), noon); !got.OK() {
		t.Errorf("another: %v", got)
	}
}

func TestANonceMemoryIsBounded(t *testing.T) {
	memory := NewNonceMemory(3)
	later := noon.Add(time.Minute)
	add := func(nonce string, now time.Time) bool { return memory.Add("key", nonce, later, now) }
	for _, nonce := range []string{"a", "b", "c"} {
		if !add(nonce, noon) || add(nonce, noon) {
			t.Errorf("%s is not new once", nonce)
		}
	}
	if !add("d", noon) || add("c", noon) || !add("a", noon) {
		t.Error("the oldest was not the one forgotten")
	}
	if memory.Add("key", "d", later.Add(time.Hour), later) != true || add("d", later) {
		t.Error("an expired nonce is new, and then remembered")
	}
	if !memory.Add("other key", "d", later, noon) {
		t.Error("a nonce belongs to its key")
	}
	if len(memory.expires) > 3 || len(memory.order) > 3 {
		t.Errorf("%d and %d are kept of 3", len(memory.expires), len(memory.order))
	}
}

// inputs are the places a covered byte can be in.
var inputs = []string{"method", "authority", "path", "User-Agent", headerAgent, headerInput, headerSignature}

// flipped returns r with a bit pattern added to one byte, and false when that
// names the same request as before.
func flipped(r Request, where string, index int, with byte) (Request, bool) {
	r.Header = maps.Clone(r.Header)
	flip := func(s string) string {
		b := []byte(s)
		b[index%len(b)] ^= with
		return string(b)
	}
	switch where {
	case "method":
		r.Method = flip(r.Method)
	case "authority": // a host has no case, and 443 says nothing
		before := r.Authority
		r.Authority = flip(r.Authority)
		return r, normalAuthority(r.Scheme, before) != normalAuthority(r.Scheme, r.Authority)
	case "path":
		path, query, found := strings.Cut(r.Path, "?")
		r.Path = flip(path)
		if found {
			r.Path += "?" + query
		}
	default:
		r.Header[where] = []string{flip(r.Header[where][0])}
	}
	return r, true
}

func TestEveryFlippedBitIsRefused(t *testing.T) {
	key := testKey(t, 1)
	for _, form := range []Form{FormDictionary, FormLegacyString} {
		r := signed(t, form, key)
		for _, config := range []VerifierConfig{{}, {Agent: botOrigin, Strict: true}} {
			config.Keys = []PublicKey{key.PublicKey}
			v := NewVerifier(config)
			for _, where := range inputs {
				length := map[string]int{"method": len(r.Method), "authority": len(r.Authority), "path": len(r.Path)}[where]
				if length == 0 {
					length = len(r.Header.Get(where))
				}
				for i := range length * 8 {
					changed, differs := flipped(r, where, i/8, 1<<(i%8))
					if got := v.Verify(changed, noon); differs && got.OK() {
						t.Errorf("%s: bit %d of byte %d may be flipped", where, i%8, i/8)
					}
				}
			}
		}
	}
}

func TestAnyFlippedByteOfAnyRequestIsRefused(t *testing.T) {
	key := testKey(t, 1)
	v := NewVerifier(VerifierConfig{Keys: []PublicKey{key.PublicKey}})
	agents := []Agent{agentOf(t, FormDictionary), agentOf(t, FormLegacyString)}
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t)
		s, err := SignRequest(key, rapid.SampledFrom(agents).Draw(t, "agent"), r, Params{
			Created: noon, Expires: noon.Add(Lifetime), Nonce: rapid.SliceOfN(rapid.Byte(), 0, 64).Draw(t, "nonce"),
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Set(r.Header)
		if got := v.Verify(r, noon); !got.OK() {
			t.Fatalf("unchanged: %v", got)
		}
		changed, differs := flipped(r, rapid.SampledFrom(inputs).Draw(t, "where"),
			rapid.IntRange(0, 1<<16).Draw(t, "index"), rapid.ByteRange(1, 255).Draw(t, "with"))
		if got := v.Verify(changed, noon); differs && got.OK() {
			t.Fatalf("%+v is as good as %+v", changed, r)
		}
	})
}

func TestVerdictsSpeak(t *testing.T) {
	for want, v := range map[string]Verdict{
		"verified: id":     {KeyID: "id"},
		"expired: 3 s ago": {Reason: Expired, Detail: "3 s ago"},
		"tag":              {Reason: WrongTag},
	} {
		if got := v.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
