package signing

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const botHost = "bot.example"

// rotation is a set in the middle of a rotation: one key expired, one about to,
// one signing, one announced.
func rotation(t testing.TB) (set KeySet, listed []Key) {
	gone, old, current, next := testKey(t, 1), testKey(t, 2), testKey(t, 3), testKey(t, 4)
	gone.Expires = noon
	old.Expires = noon.Add(time.Hour)
	current.NotBefore = noon.Add(-time.Hour)
	next.NotBefore = noon.Add(time.Hour)
	return keySet(t, gone, old, current, next), []Key{old, current, next}
}

func TestADirectoryHoldsTheKeysThatHaveNotExpired(t *testing.T) {
	set, listed := rotation(t)
	body, header, err := Directory(set, botHost, noon)
	if err != nil {
		t.Fatal(err)
	}
	keys := must[[]PublicKey](t)(ParseDirectory(body))
	var got, want []string
	for _, k := range keys {
		got = append(got, k.ID)
	}
	for _, k := range listed {
		want = append(want, k.ID)
		input := header.Get("Signature-Input")
		if !strings.Contains(input, `keyid="`+k.ID+`"`) {
			t.Errorf("%s did not sign: %s", k.ID, input)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !keys[0].Expires.Equal(time.Unix(noon.Unix()+3600, 0)) || !keys[2].NotBefore.Equal(time.Unix(noon.Unix()+3600, 0)) {
		t.Errorf("windows %v and %v", keys[0], keys[2])
	}
	again, _, err := Directory(set, botHost, noon.Add(time.Minute))
	if err != nil || !bytes.Equal(body, again) {
		t.Errorf("the body changed within a minute: %v\n%s\n%s", err, body, again)
	}
	for name, want := range map[string]string{
		"Content-Type":                DirectoryType,
		"Cache-Control":               "public, max-age=3600, no-transform",
		"Access-Control-Allow-Origin": "*",
		"Content-Encoding":            "",
		"Last-Modified":               "Thu, 01 Jan 2026 00:00:00 GMT",
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestADirectoryIsRefusedWhen(t *testing.T) {
	set, _ := rotation(t)
	good := func() DirectoryResponse {
		body, header, err := Directory(set, "Bot.example:443", noon)
		if err != nil {
			t.Fatal(err)
		}
		return DirectoryResponse{botHost, http.StatusOK, header, body}
	}
	otherBody, otherHeader, err := Directory(keySet(t, testKey(t, 9)), botHost, noon)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(name, from, to string) func(*DirectoryResponse) {
		return func(r *DirectoryResponse) { r.Header.Set(name, strings.Replace(r.Header.Get(name), from, to, 1)) }
	}
	for _, tc := range []struct {
		name  string
		spoil func(*DirectoryResponse)
		when  time.Time
		want  Reason
	}{
		{"nothing is wrong", func(*DirectoryResponse) {}, noon, Verified},
		{"its signatures still hold", func(*DirectoryResponse) {}, noon.Add(DirectoryLifetime - time.Second), Verified},
		{"its signatures have expired", func(*DirectoryResponse) {}, noon.Add(DirectoryLifetime), Expired},
		{"it is dated ahead", func(*DirectoryResponse) {}, noon.Add(-time.Second), CreatedFuture},
		{"it comes from another authority", func(r *DirectoryResponse) { r.Authority = "else.example" }, noon, WrongSignature},
		{"it was not found", func(r *DirectoryResponse) { r.Status = http.StatusNotFound }, noon, WrongStatus},
		{"it was moved", func(r *DirectoryResponse) { r.Status = http.StatusFound }, noon, WrongStatus},
		{"its type has a parameter", edit("Content-Type", "json", "json; charset=utf-8"), noon, WrongMediaType},
		{"its type is JSON", func(r *DirectoryResponse) { r.Header.Set("Content-Type", "application/json") }, noon, WrongMediaType},
		{"a byte of its body was changed", func(r *DirectoryResponse) { r.Body = append(r.Body, ' ') }, noon, WrongDigest},
		{"its body is another's", func(r *DirectoryResponse) { r.Body = otherBody }, noon, WrongDigest},
		{"its body and digest are another's", func(r *DirectoryResponse) {
			r.Body = otherBody
			r.Header.Set("Content-Digest", otherHeader.Get("Content-Digest"))
		}, noon, KeyUnknown},
		{"it has no digest", func(r *DirectoryResponse) { r.Header.Del("Content-Digest") }, noon, WrongDigest},
		{"its digest is not covered", edit("Signature-Input", ` "content-digest"`, ""), noon, Coverage},
		{"its authority is its own", edit("Signature-Input", `;req`, ""), noon, Coverage},
		{"its tag is another", edit("Signature-Input", directoryTag, requestTag), noon, WrongSignature},
		{"a key did not sign", edit("Signature-Input", "binding1=", "b="), noon, WrongLabel},
		{"it is not signed", func(r *DirectoryResponse) { r.Header.Del("Signature-Input") }, noon, WrongSignature},
		{"its signatures are broken", func(r *DirectoryResponse) { r.Header.Set("Signature-Input", "(") }, noon, Malformed},
		{"a key signed twice", func(r *DirectoryResponse) {
			for _, name := range []string{"Signature-Input", "Signature"} {
				first, _, _ := strings.Cut(r.Header.Get(name), ", binding1")
				r.Header.Add(name, strings.Replace(first, "binding0", "more", 1))
			}
		}, noon, Duplicate},
		{"it is no JSON", func(r *DirectoryResponse) { r.Body = []byte("<html>") }, noon, WrongDirectory},
		{"it has no keys", func(r *DirectoryResponse) { r.Body = []byte(`{"keys":[]}`) }, noon, WrongDirectory},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := good()
			tc.spoil(&r)
			_, err := VerifyDirectory(r, tc.when)
			if tc.want == Verified {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			fault, ok := errors.AsType[*DirectoryError](err)
			if !ok || fault.Reason != tc.want {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestADirectoryIsNotMadeWithout(t *testing.T) {
	expired := testKey(t, 1)
	expired.Expires = noon
	for name, tc := range map[string]struct {
		set       KeySet
		authority string
	}{
		"a key":               {KeySet{}, botHost},
		"a key that is valid": {keySet(t, expired), botHost},
		"an authority":        {keySet(t, testKey(t, 2)), ""},
		"a clean authority":   {keySet(t, testKey(t, 2)), "bot.example/\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if body, _, err := Directory(tc.set, tc.authority, noon); err == nil {
				t.Errorf("made %s", body)
			}
		})
	}
}

func TestJWKSets(t *testing.T) {
	const x = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"
	for _, tc := range []struct {
		name, body string
		keys       int
		fails      string
	}{
		{"a key without kid", `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + x + `"}]}`, 1, ""},
		{"a key of another alg spelling", `{"keys":[{"kty":"OKP","crv":"Ed25519","alg":"ed25519","x":"` + x + `"}]}`, 1, ""},
		{"other keys are passed over", `{"keys":[{"kty":"RSA","n":"AQ"},{"kty":"OKP","crv":"X25519","x":"AQ"},{"kty":"OKP","crv":"Ed25519","use":"enc","x":"` + x + `"}]}`, 0, ""},
		{"no keys", `{"keys":[]}`, 0, ""},
		{"a bare JWK", `{"kty":"OKP","crv":"Ed25519","x":"` + x + `"}`, 0, "bare JWK"},
		{"a kid that is no thumbprint", `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"1","x":"` + x + `"}]}`, 0, "thumbprint"},
		{"a key twice", `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + x + `"},{"kty":"OKP","crv":"Ed25519","x":"` + x + `"}]}`, 0, "twice"},
		{"a private key", `{"keys":[{"kty":"OKP","crv":"Ed25519","d":"AA","x":"` + x + `"}]}`, 0, "private"},
		{"a short x", `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA"}]}`, 0, "1 bytes"},
		{"a padded x", `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + x + `="}]}`, 0, `"x"`},
		{"an expiry in milliseconds", `{"keys":[{"kty":"OKP","crv":"Ed25519","exp":1775001600000,"x":"` + x + `"}]}`, 0, "seconds"},
		{"a begin before 1970", `{"keys":[{"kty":"OKP","crv":"Ed25519","nbf":-1,"x":"` + x + `"}]}`, 0, "seconds"},
		{"a begin with a fraction", `{"keys":[{"kty":"OKP","crv":"Ed25519","nbf":1.5,"x":"` + x + `"}]}`, 0, "nbf"},
		{"more after it", `{"keys":[]}{}`, 0, "more after"},
		{"no JSON", `keys`, 0, "reading"},
		{"null", `null`, 0, `no "keys"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			keys, err := ParseDirectory([]byte(tc.body))
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Fatalf("keys %v, error %v, want one that says %q", keys, err, tc.fails)
				}
				return
			}
			if err != nil || len(keys) != tc.keys {
				t.Errorf("%d keys, error %v", len(keys), err)
			}
		})
	}
}

// clock is a clock that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// served is a handler behind a socket. ask sends a request with a Host and headers.
func served(t *testing.T, set KeySet, c *clock) (ask func(method, host, path string, header http.Header) (*http.Response, []byte)) {
	t.Helper()
	handler := must[*Handler](t)(NewHandler(set, botHost, c.Now))
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return func(method, host, path string, header http.Header) (*http.Response, []byte) {
		t.Helper()
		request := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), method, server.URL+path, nil))
		request.Host = host
		maps.Copy(request.Header, header)
		response := must[*http.Response](t)(server.Client().Do(request))
		body := must[[]byte](t)(io.ReadAll(response.Body))
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		return response, body
	}
}

func TestTheServedDirectoryVerifiesAndSoDoesARequest(t *testing.T) {
	set, listed := rotation(t)
	ask := served(t, set, &clock{now: noon})
	for _, host := range []string{botHost, "BOT.example:443"} {
		response, body := ask("GET", host, DirectoryPath, nil)
		keys, err := VerifyDirectory(DirectoryResponse{botHost, response.StatusCode, response.Header, body}, noon)
		if err != nil {
			t.Fatal(err)
		}
		r := signed(t, FormDictionary, listed[1])
		if v := NewVerifier(VerifierConfig{Keys: keys, Agent: botOrigin, Strict: true}).Verify(r, noon); !v.OK() {
			t.Errorf("a request is %v by the served keys", v)
		}
	}
}

func TestOnlyTheDirectoryIsServedAndOnlyForItsAuthority(t *testing.T) {
	set, _ := rotation(t)
	ask := served(t, set, &clock{now: noon})
	for _, tc := range []struct {
		name, method, host, path string
		status                   int
	}{
		{"another host", "GET", "else.example", DirectoryPath, http.StatusMisdirectedRequest},
		{"another port", "GET", botHost + ":8443", DirectoryPath, http.StatusMisdirectedRequest},
		{"another path", "GET", botHost, "/", http.StatusNotFound},
		{"another method", "POST", botHost, DirectoryPath, http.StatusMethodNotAllowed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			response, _ := ask(tc.method, tc.host, tc.path, nil)
			if response.StatusCode != tc.status || response.Header.Get("Signature") != "" || response.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("status %d, header %v", response.StatusCode, response.Header)
			}
			if allow := response.Header.Get("Allow"); (allow == "GET, HEAD") != (tc.status == http.StatusMethodNotAllowed) {
				t.Errorf("Allow %q", allow)
			}
		})
	}
}

func TestConditionalRequests(t *testing.T) {
	set, _ := rotation(t)
	ask := served(t, set, &clock{now: noon})
	whole, body := ask("GET", botHost, DirectoryPath, nil)
	tag := whole.Header.Get("Etag")
	for _, tc := range []struct {
		name   string
		header http.Header
		status int
	}{
		{"the same tag", http.Header{"If-None-Match": {tag}}, 304},
		{"a weak tag in a list", http.Header{"If-None-Match": {`"a", W/` + tag}}, 304},
		{"any tag", http.Header{"If-None-Match": {"*"}}, 304},
		{"another tag", http.Header{"If-None-Match": {`"a"`}}, 200},
		{"another tag, though unmodified", http.Header{"If-None-Match": {`"a"`}, "If-Modified-Since": {whole.Header.Get("Last-Modified")}}, 200},
		{"unmodified since", http.Header{"If-Modified-Since": {whole.Header.Get("Last-Modified")}}, 304},
		{"modified since", http.Header{"If-Modified-Since": {noon.Add(-time.Hour).UTC().Format(http.TimeFormat)}}, 200},
		{"since no date", http.Header{"If-Modified-Since": {"yesterday"}}, 200},
		{"no condition", nil, 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			response, got := ask("GET", botHost, DirectoryPath, tc.header)
			for _, name := range []string{"Signature-Input", "Signature", "Content-Digest", "Etag", "Cache-Control"} {
				if response.Header.Get(name) == "" {
					t.Errorf("there is no %s", name)
				}
			}
			if response.StatusCode != tc.status || (len(got) != 0) != (tc.status == 200) {
				t.Errorf("status %d with %d bytes", response.StatusCode, len(got))
			}
			// A cache takes the fields of a 304 over: they must go with its body.
			kept := whole.Header.Clone()
			maps.Copy(kept, response.Header)
			if _, err := VerifyDirectory(DirectoryResponse{botHost, 200, kept, body}, noon); err != nil {
				t.Error(err)
			}
		})
	}
	head, none := ask("HEAD", botHost, DirectoryPath, nil)
	if len(none) != 0 || head.Header.Get("Content-Length") != strconv.Itoa(len(body)) || head.Header.Get("Etag") != tag {
		t.Errorf("HEAD: %d bytes, header %v", len(none), head.Header)
	}
}

// Whatever is fetched at whatever time, it verifies for as long as it may be kept.
func TestSignaturesOutliveEveryCachedCopy(t *testing.T) {
	set, _ := rotation(t)
	c := &clock{now: noon}
	ask := served(t, set, c)
	distinct := make(map[string]bool)
	for _, after := range []time.Duration{
		0, time.Minute, time.Hour - time.Second, time.Hour, 3 * 24 * time.Hour, DirectoryLifetime / 2, DirectoryLifetime - time.Second,
		DirectoryLifetime, 30 * DirectoryLifetime, -time.Minute, // the clock was set back
	} {
		c.set(noon.Add(after))
		response, body := ask("GET", botHost, DirectoryPath, nil)
		for _, kept := range []time.Duration{0, DirectoryMaxAge} {
			when := c.Now().Add(kept)
			if _, err := VerifyDirectory(DirectoryResponse{botHost, response.StatusCode, response.Header, body}, when); err != nil {
				t.Errorf("fetched at %v and kept for %v: %v", after, kept, err)
			}
		}
		for _, k := range must[[]PublicKey](t)(ParseDirectory(body)) {
			if k.Expired(c.Now()) {
				t.Errorf("at %v an expired key is shown", after)
			}
		}
		distinct[response.Header.Get("Signature")] = true
	}
	if len(distinct) >= 10 {
		t.Errorf("%d signatures for 10 requests: nothing is kept", len(distinct))
	}
}

func TestWithoutAKeyThereIsNoDirectory(t *testing.T) {
	expiring := testKey(t, 1)
	expiring.Expires = noon.Add(time.Hour)
	c := &clock{now: noon}
	ask := served(t, keySet(t, expiring), c)
	c.set(expiring.Expires)
	if response, _ := ask("GET", botHost, DirectoryPath, nil); response.StatusCode != http.StatusNotFound {
		t.Errorf("status %d", response.StatusCode)
	}
	if _, err := NewHandler(keySet(t, expiring), botHost, c.Now); err == nil {
		t.Error("a handler without a key was made")
	}
	if _, err := NewHandler(keySet(t, expiring), botHost, nil); err == nil {
		t.Error("a handler without a clock was made")
	}
}

func TestThePublicJWK(t *testing.T) {
	k := testKey(t, 1)
	k.NotBefore, k.Expires = time.Unix(100, 0), time.Unix(200, 0)
	var got map[string]any
	if err := json.Unmarshal(must[[]byte](t)(json.Marshal(k.JWK())), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": k.ID, "x": got["x"], "nbf": 100., "exp": 200.}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
