package signing

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTheWireForm(t *testing.T) {
	key := testKey(t, 1)
	nonce := bytes.Repeat([]byte{0xA5}, NonceSize)
	params := `;created=1767225600;expires=1767225900;nonce="` + base64.StdEncoding.EncodeToString(nonce) +
		`";keyid="` + key.ID + `";alg="ed25519";tag="web-bot-auth"`
	for form, want := range map[Form]struct{ agent, component string }{
		FormDictionary:   {`sig1="https://bot.example"`, `"signature-agent";key="sig1"`},
		FormLegacyString: {`"https://bot.example"`, `"signature-agent"`},
	} {
		t.Run(string(form), func(t *testing.T) {
			signer := must[*Signer](t)(NewSigner(Options{
				Keys: keySet(t, key), Agent: botOrigin, Form: form, Now: at(noon), Rand: bytes.NewReader(nonce),
			}))
			h := http.Header{"User-Agent": {botAgent}, "Accept": {"application/json"}}
			if err := signer.Sign(h, "GET", "shop.example", "/robots.txt"); err != nil {
				t.Fatal(err)
			}
			covered := `("@method" "@authority" "@path" "user-agent" ` + want.component + `)` + params
			base := "\"@method\": GET\n\"@authority\": shop.example\n\"@path\": /robots.txt\n\"user-agent\": " + botAgent + "\n" +
				want.component + ": \"https://bot.example\"\n\"@signature-params\": " + covered
			if diff := cmp.Diff(http.Header{
				"User-Agent": {botAgent}, "Accept": {"application/json"},
				"Signature-Agent": {want.agent},
				"Signature-Input": {"sig1=" + covered},
				"Signature":       {"sig1=:" + base64.StdEncoding.EncodeToString(ed25519.Sign(key.private.key, []byte(base))) + ":"},
			}, h); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEverySignatureHasItsOwnNonce(t *testing.T) {
	signer := newSigner(t, FormDictionary, testKey(t, 1))
	var mu sync.Mutex
	seen := make(map[string]bool)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				h := http.Header{"User-Agent": {botAgent}}
				if err := signer.Sign(h, "GET", "shop.example", "/"); err != nil {
					t.Error(err)
				}
				mu.Lock()
				seen[h.Get("Signature")] = true
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if len(seen) != 400 {
		t.Errorf("%d signatures of 400 differ", len(seen))
	}
}

func TestASignatureIsNeverDatedAhead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "second"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanosecond"))
		key, err := NewKey(make([]byte, 32))
		if err != nil {
			t.Fatal(err)
		}
		set, err := NewKeySet(key)
		if err != nil {
			t.Fatal(err)
		}
		signer, err := NewSigner(Options{Keys: set, Agent: botOrigin, Now: at(now), Rand: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		r := Request{Method: "GET", Authority: "shop.example", Path: "/", Header: http.Header{"User-Agent": {botAgent}}}
		if err := signer.Sign(r.Header, r.Method, r.Authority, r.Path); err != nil {
			t.Fatal(err)
		}
		v := NewVerifier(VerifierConfig{Keys: set.Public(), Strict: true}).Verify(r, now)
		if !v.OK() || v.Created.After(now) || now.Sub(v.Created) >= time.Second || v.Expires.Sub(v.Created) != Lifetime {
			t.Fatalf("%v: created %v, expires %v at %v", v, v.Created, v.Expires, now)
		}
	})
}

func TestAFailedSignatureLeavesTheHeaderAlone(t *testing.T) {
	broken := errors.New("no entropy")
	expiring := testKey(t, 1)
	expiring.Expires = noon.Add(time.Hour)
	for name, tc := range map[string]struct {
		random, agent           []string
		method, authority, path string
		now                     time.Time
	}{
		"no User-Agent":              {nil, nil, "GET", "shop.example", "/", noon},
		"two User-Agents":            {nil, []string{"a", "b"}, "GET", "shop.example", "/", noon},
		"an empty User-Agent":        {nil, []string{""}, "GET", "shop.example", "/", noon},
		"a User-Agent on two lines":  {nil, []string{"a\r\nb"}, "GET", "shop.example", "/", noon},
		"a User-Agent not in ASCII":  {nil, []string{"Émissaire/1.0"}, "GET", "shop.example", "/", noon},
		"a User-Agent with a margin": {nil, []string{" a"}, "GET", "shop.example", "/", noon},
		"no method":                  {nil, []string{botAgent}, "", "shop.example", "/", noon},
		"a method with a space":      {nil, []string{botAgent}, "GET /", "shop.example", "/", noon},
		"no authority":               {nil, []string{botAgent}, "GET", "", "/", noon},
		"an authority with a path":   {nil, []string{botAgent}, "GET", "shop.example/x", "/", noon},
		"a line break in the path":   {nil, []string{botAgent}, "GET", "shop.example", "/\n\"@method\": PUT", noon},
		"a path that is not escaped": {nil, []string{botAgent}, "GET", "shop.example", "/é", noon},
		"a path without its slash":   {nil, []string{botAgent}, "GET", "shop.example", "robots.txt", noon},
		"an expired key":             {nil, []string{botAgent}, "GET", "shop.example", "/", noon.Add(time.Hour)},
		"no randomness":              {[]string{"broken"}, []string{botAgent}, "GET", "shop.example", "/", noon},
	} {
		t.Run(name, func(t *testing.T) {
			now := noon
			options := Options{Keys: keySet(t, expiring), Agent: botOrigin, Now: func() time.Time { return now }, Rand: rand.Reader}
			if tc.random != nil {
				options.Rand = iotest.ErrReader(broken)
			}
			signer := must[*Signer](t)(NewSigner(options))
			now = tc.now
			h := http.Header{"User-Agent": tc.agent, "Signature": {"left from before"}}
			before := maps.Clone(h)
			if err := signer.Sign(h, tc.method, tc.authority, tc.path); err == nil {
				t.Fatal("it was signed")
			}
			if diff := cmp.Diff(before, h); diff != "" {
				t.Errorf("the header was changed: %s", diff)
			}
			_, err := SignRequest(expiring, signer.Agent(), Request{Method: tc.method, Authority: tc.authority, Path: tc.path, Header: h},
				Params{Created: noon, Expires: noon.Add(Lifetime)})
			if mayPass := tc.random != nil || !tc.now.Equal(noon); (err == nil) != mayPass {
				t.Errorf("the pure function: error %v", err)
			}
		})
	}
}

func TestASignerNeedsAllOfItsOptions(t *testing.T) {
	expired := testKey(t, 1)
	expired.Expires = noon
	whole := Options{Keys: keySet(t, testKey(t, 2)), Agent: botOrigin, Now: at(noon), Rand: rand.Reader}
	for name, spoil := range map[string]func(*Options){
		"no clock":       func(o *Options) { o.Now = nil },
		"no randomness":  func(o *Options) { o.Rand = nil },
		"no keys":        func(o *Options) { o.Keys = KeySet{} },
		"an expired key": func(o *Options) { o.Keys = keySet(t, expired) },
		"no agent":       func(o *Options) { o.Agent = "" },
		"another form":   func(o *Options) { o.Form = "list" },
	} {
		t.Run(name, func(t *testing.T) {
			options := whole
			spoil(&options)
			if _, err := NewSigner(options); err == nil {
				t.Error("it was made")
			}
		})
	}
	if _, err := SignRequest(Key{}, agentOf(t, ""), Request{}, Params{}); err == nil {
		t.Error("no key signed")
	}
	if _, err := SignRequest(testKey(t, 1), Agent{}, Request{}, Params{}); err == nil {
		t.Error("no agent was named")
	}
}

func TestTheSignerChangesToTheNextKey(t *testing.T) {
	first, second := testKey(t, 1), testKey(t, 2)
	second.NotBefore = noon.Add(time.Hour)
	now := noon
	signer := must[*Signer](t)(NewSigner(Options{
		Keys: keySet(t, first, second), Agent: botOrigin, Now: func() time.Time { return now }, Rand: rand.Reader,
	}))
	for _, want := range []Key{first, second} {
		h := http.Header{"User-Agent": {botAgent}}
		if err := signer.Sign(h, "GET", "shop.example", "/"); err != nil {
			t.Fatal(err)
		}
		if input := h.Get("Signature-Input"); !strings.Contains(input, want.ID) || must[string](t)(signer.KeyID()) != want.ID {
			t.Errorf("signed as %s, want %s", input, want.ID)
		}
		now = now.Add(time.Hour)
	}
}

// The verifier writes a base by the general rules of RFC 9421, the signer by its
// own shortcut: they must agree on every request.
func TestSignerAndVerifierWriteTheSameBase(t *testing.T) {
	key := testKey(t, 1)
	rapid.Check(t, func(t *rapid.T) {
		agent, err := NewAgent(botOrigin, rapid.SampledFrom([]Form{FormDictionary, FormLegacyString}).Draw(t, "form"))
		if err != nil {
			t.Fatal(err)
		}
		r := drawRequest(t)
		s, err := SignRequest(key, agent, r, Params{
			Created: noon, Expires: noon.Add(Lifetime), Nonce: rapid.SliceOfN(rapid.Byte(), 0, 80).Draw(t, "nonce"),
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Set(r.Header)
		v := NewVerifier(VerifierConfig{Keys: []PublicKey{key.PublicKey}, Agent: botOrigin}).Verify(r, noon)
		if !v.OK() || v.Base != s.Base {
			t.Fatalf("%v; bases:\n%s\n%s", v, s.Base, v.Base)
		}
	})
}

// drawRequest draws a request as a crawler could meet it.
func drawRequest(t *rapid.T) Request {
	return Request{
		Method: rapid.SampledFrom([]string{"GET", "HEAD", "OPTIONS"}).Draw(t, "method"),
		Scheme: rapid.SampledFrom([]string{"", "https", "http"}).Draw(t, "scheme"),
		Authority: rapid.StringMatching(`[a-zA-Z0-9-]{1,20}\.example`).Draw(t, "host") +
			rapid.SampledFrom([]string{"", ":443", ":80", ":8443"}).Draw(t, "port"),
		Path: rapid.StringMatching(`/([!$&-;=@-Z_a-z~]|%[0-9a-fA-F]{2}){0,30}`).Draw(t, "path") +
			rapid.SampledFrom([]string{"", "?", "?a=b&c=%20"}).Draw(t, "query"),
		Header: http.Header{"User-Agent": {rapid.StringMatching(`[!-~]([ -~]{0,40}[!-~])?`).Draw(t, "user agent")}},
	}
}

func TestSigningAllocatesLittle(t *testing.T) {
	signer := newSigner(t, FormDictionary, testKey(t, 1))
	h := http.Header{"User-Agent": {botAgent}}
	var failed error
	allocations := testing.AllocsPerRun(100, func() {
		failed = errors.Join(failed, signer.Sign(h, "GET", "shop.example", "/.well-known/agent-card.json"))
	})
	if failed != nil {
		t.Fatal(failed)
	}
	if allocations > 8 {
		t.Errorf("%v allocations a signature, want at most 8", allocations)
	}
}

// BenchmarkSign reports, beside the cost of a signature with its headers, its
// ratio to ed25519.Sign of the same bytes: medians of samples taken in turn, so
// that a busy machine slows both.
func BenchmarkSign(b *testing.B) {
	key := testKey(b, 1)
	signer := newSigner(b, FormDictionary, key)
	const path = "/.well-known/agent-card.json"
	r := Request{Method: "GET", Authority: "shop.example", Path: path, Header: http.Header{"User-Agent": {botAgent}}}
	base := []byte(must[Signed](b)(SignRequest(key, signer.Agent(), r,
		Params{Created: noon, Expires: noon.Add(Lifetime), Nonce: make([]byte, NonceSize)})).Base)
	var whole, bare []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		if err := signer.Sign(r.Header, r.Method, r.Authority, path); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		ed25519.Sign(key.private.key, base)
		bare = append(bare, time.Since(middle))
		whole = append(whole, middle.Sub(start))
	}
	slices.Sort(whole)
	slices.Sort(bare)
	half := len(whole) / 2
	b.ReportMetric(float64(whole[half]), "ns/signature")
	b.ReportMetric(float64(whole[half])/float64(bare[half]), "x/ed25519")
}

func BenchmarkVerify(b *testing.B) {
	key := testKey(b, 1)
	verifier := NewVerifier(VerifierConfig{Keys: []PublicKey{key.PublicKey}, Strict: true})
	r := signed(b, FormDictionary, key)
	b.ReportAllocs()
	for b.Loop() {
		if v := verifier.Verify(r, noon); !v.OK() {
			b.Fatal(v)
		}
	}
}
