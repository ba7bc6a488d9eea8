package signing

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
)

// RFC 9421 B.2.6, by the general rules alone: it has neither tag nor agent.
func TestTheRFCsOwnVector(t *testing.T) {
	m := Request{
		Method: "POST", Authority: "example.com", Path: "/foo?param=Value&Pet=dog",
		Header: http.Header{
			"Date":            {"Tue, 20 Apr 2021 02:07:55 GMT"},
			"Content-Type":    {"application/json"},
			"Content-Length":  {"18"},
			"Signature-Input": {`sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"`},
			"Signature":       {`sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:`},
		},
	}.message()
	const want = `"date": Tue, 20 Apr 2021 02:07:55 GMT
"@method": POST
"@path": /foo
"@authority": example.com
"content-type": application/json
"content-length": 18
"@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"`
	checkVector(t, m, "sig-b26", publishedKey(t).Public, want)
}

// checkVector rebuilds a base byte for byte and verifies the signature over it.
func checkVector(t *testing.T, m *message, name string, key ed25519.PublicKey, want string) {
	t.Helper()
	inputs, signatures, err := signatureHeaders(m)
	if err != nil {
		t.Fatal(err)
	}
	list, _ := inputs.Get(name)
	covered, ok := list.(httpsfv.InnerList)
	if !ok {
		t.Fatalf("no list of components called %s", name)
	}
	base := must[string](t)(m.signatureBase(covered))
	if base != want {
		t.Errorf("base\n%s\nwant\n%s", base, want)
	}
	value, _ := signatures.Get(name)
	if item, _ := value.(httpsfv.Item); !ed25519.Verify(key, []byte(base), item.Value.([]byte)) {
		t.Error("the signature does not fit")
	}
}

// The signatures here were made by OpenSSL over bases written by hand.
func TestForeignSignaturesAreMadeAgain(t *testing.T) {
	nonce := make([]byte, NonceSize)
	for i := range nonce {
		nonce[i] = byte(i)
	}
	for form, tc := range map[Form]struct {
		nonce []byte
		want  string
	}{
		FormDictionary:   {nonce, "ZnjHGgq/7F2GbrMVN+gCzyuNLByJ4xbn2/fj2GU0sUORa1wC8/f49jKyPrvfOJnxILrR0uRYHnjl1ZHTWEe+Ag=="},
		FormLegacyString: {nil, "P4HGptH5GXW/Tom3lHfnlgnxvAko9Sj7iZwSN4cum+9S7tX+PJXrE3YNmpPHOomSxAxxrn84rs8da94d98yKAQ=="},
	} {
		t.Run(string(form), func(t *testing.T) {
			r := must[Request](t)(RequestFromURL("GET", "https://SHOP.example:443/.well-known/agent-card.json?x=1",
				http.Header{"User-Agent": {botAgent}}))
			s := must[Signed](t)(SignRequest(publishedKey(t), agentOf(t, form), r,
				Params{Created: noon, Expires: noon.Add(Lifetime), Nonce: tc.nonce}))
			if s.Signature != "sig1=:"+tc.want+":" {
				t.Errorf("signature %s over\n%s", s.Signature, s.Base)
			}
		})
	}
}

// vector is a case of the corpus.
type vector struct {
	Name  string
	Key   struct{ D, X string }
	Label string
	Now   int64

	Message struct {
		Kind, Method, URL, Body string
		Status                  int
		Headers                 [][2]string
		Request                 struct {
			Method, URL string
			Headers     [][2]string
		}
	}
	Base   string `json:"signature_base"`
	Expect string
}

func corpus(t *testing.T, name string, into any) {
	t.Helper()
	folder := os.Getenv("AGENTCENSUS_CORPUS")
	if folder == "" {
		t.Skip("AGENTCENSUS_CORPUS is not set")
	}
	data := must[[]byte](t)(os.ReadFile(filepath.Join(folder, "web-bot-auth", name)))
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func headerOf(lines [][2]string) http.Header {
	h := make(http.Header)
	for _, line := range lines {
		h.Add(line[0], line[1])
	}
	return h
}

func (v vector) key(t *testing.T) Key {
	t.Helper()
	return must[Key](t)(NewKey(must[[]byte](t)(base64.RawURLEncoding.DecodeString(v.Key.D))))
}

// message is the vector's message; request is meaningful for a request only.
func (v vector) message(t *testing.T) (m *message, request Request) {
	t.Helper()
	h := headerOf(v.Message.Headers)
	if v.Message.Kind == "request" {
		request = must[Request](t)(RequestFromURL(v.Message.Method, v.Message.URL, h))
		return request.message(), request
	}
	asked := v.Message.Request
	of := must[Request](t)(RequestFromURL(asked.Method, asked.URL, headerOf(asked.Headers)))
	return &message{status: v.Message.Status, header: h, request: of.message()}, Request{}
}

func TestCorpusBasesAreRebuilt(t *testing.T) {
	for _, file := range []string{"rfc9421-b26.json", "draft-ietf-00.json", "draft-ietf-01-editor.json", "own-profile.json"} {
		t.Run(file, func(t *testing.T) {
			var vectors []vector
			corpus(t, file, &vectors)
			for _, v := range vectors {
				t.Run(v.Name, func(t *testing.T) {
					if v.Expect != "valid" {
						t.Fatalf("expects %q, which this test does not know", v.Expect)
					}
					m, _ := v.message(t)
					checkVector(t, m, v.Label, v.key(t).Public, v.Base)
				})
			}
		})
	}
}

func TestCorpusRequestsVerify(t *testing.T) {
	for _, file := range []string{"draft-ietf-00.json", "draft-ietf-01-editor.json", "own-profile.json"} {
		t.Run(file, func(t *testing.T) {
			var vectors []vector
			corpus(t, file, &vectors)
			for _, v := range vectors {
				if v.Message.Kind != "request" {
					continue
				}
				t.Run(v.Name, func(t *testing.T) {
					now := time.Unix(v.Now, 0)
					if v.Now == 0 {
						now = time.Unix(1735689600, 0) // created, for the drafts' vectors
					}
					_, r := v.message(t)
					got := NewVerifier(VerifierConfig{
						Keys: []PublicKey{v.key(t).PublicKey}, MaxLifetime: 101 * 366 * 24 * time.Hour,
					}).Verify(r, now)
					if !got.OK() || got.Base != v.Base || got.Label != v.Label {
						t.Errorf("%v, base %s", got, got.Base)
					}
				})
			}
		})
	}
}

func TestCorpusSignaturesAreRebuilt(t *testing.T) {
	var vectors []vector
	corpus(t, "own-profile.json", &vectors)
	rebuilt := 0
	for _, v := range vectors {
		if v.Message.Kind != "request" {
			continue
		}
		rebuilt++
		t.Run(v.Name, func(t *testing.T) {
			_, r := v.message(t)
			value := strings.TrimPrefix(r.Header.Get("Signature-Agent"), "sig1=")
			agent := must[Agent](t)(NewAgent(strings.Trim(value, `"`), FormDictionary))
			created := time.Unix(v.Now, 0)
			s := must[Signed](t)(SignRequest(v.key(t), agent, r, Params{Created: created, Expires: created.Add(Lifetime)}))
			if s.Base != v.Base || s.Input != r.Header.Get("Signature-Input") ||
				s.Signature != r.Header.Get("Signature") || s.Agent != r.Header.Get("Signature-Agent") {
				t.Errorf("made %+v", s)
			}
		})
	}
	if rebuilt == 0 {
		t.Error("there is no request in the corpus")
	}
}

func TestCorpusDirectoriesAreRebuiltAndVerify(t *testing.T) {
	for _, file := range []string{"draft-ietf-00.json", "own-profile.json"} {
		var vectors []vector
		corpus(t, file, &vectors)
		for _, v := range vectors {
			if v.Message.Kind != "response" {
				continue
			}
			t.Run(v.Name, func(t *testing.T) {
				now := time.Unix(1735689600, 0)
				if v.Now != 0 {
					now = time.Unix(v.Now, 0)
				}
				h, body := headerOf(v.Message.Headers), []byte(v.Message.Body)
				authority := strings.Split(v.Message.Request.URL, "/")[2]
				keys, err := VerifyDirectory(DirectoryResponse{authority, v.Message.Status, h, body}, now)
				if h.Get("Content-Digest") == "" { // the older drafts' form
					if err == nil {
						t.Fatal("a body that no signature covers was accepted")
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if file != "own-profile.json" {
					return
				}
				// The vectors name one key each; the second of the pair is seeded 0, 1, ... 31.
				signing := make([]Key, len(keys))
				for i, k := range keys {
					signing[i] = publishedKey(t)
					if k.ID != testKeyID {
						seed := make([]byte, 32)
						for j := range seed {
							seed[j] = byte(j)
						}
						signing[i] = must[Key](t)(NewKey(seed))
					}
					signing[i].NotBefore, signing[i].Expires = k.NotBefore, k.Expires
				}
				made, header, err := signDirectory(signing, authority, now, now.Add(30*24*time.Hour))
				if err != nil {
					t.Fatal(err)
				}
				if string(made) != v.Message.Body {
					t.Errorf("body %s, want %s", made, v.Message.Body)
				}
				for name := range h {
					if header.Get(name) != h.Get(name) {
						t.Errorf("%s: %s, want %s", name, header.Get(name), h.Get(name))
					}
				}
			})
		}
	}
}

func TestCorpusThumbprints(t *testing.T) {
	var cases []struct {
		Source, Thumbprint string
		JWK                struct{ X string }
	}
	corpus(t, "thumbprints.json", &cases)
	for _, c := range cases {
		if got := Thumbprint(must[[]byte](t)(base64.RawURLEncoding.DecodeString(c.JWK.X))); got != c.Thumbprint {
			t.Errorf("%s: %s, want %s", c.Source, got, c.Thumbprint)
		}
	}
}
