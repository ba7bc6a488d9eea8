package signing

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRequestsOfURLs(t *testing.T) {
	for _, tc := range []struct {
		name, url, host         string
		scheme, authority, path string
		fails                   string
	}{
		{"a path", "https://shop.example/a", "", "https", "shop.example", "/a", ""},
		{"no path", "https://shop.example", "", "https", "shop.example", "/", ""},
		{"no path but a query", "https://shop.example?a=b", "", "https", "shop.example", "/?a=b", ""},
		{"an empty query", "https://shop.example/?", "", "https", "shop.example", "/?", ""},
		{"escapes stay as they are", "https://shop.example/a%2fb%20c/(d)[1]!*'", "", "https", "shop.example", "/a%2fb%20c/(d)[1]!*'", ""},
		{"an equal Host", "https://SHOP.example:443/", "shop.example", "https", "SHOP.example:443", "/", ""},
		{"another Host", "https://shop.example/", "else.example", "", "", "", "Host"},
		{"another scheme", "ftp://shop.example/", "", "", "", "", "absolute"},
		{"a relative URL", "/robots.txt", "", "", "", "", "absolute"},
		{"a broken escape", "https://shop.example/%zz", "", "", "", "", "escape"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := http.Header{}
			if tc.host != "" {
				h.Set("Host", tc.host)
			}
			got, err := RequestFromURL("GET", tc.url, h)
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Fatalf("request %+v, error %v, want one that says %q", got, err, tc.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Request{"GET", tc.scheme, tc.authority, tc.path, h}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARequestIsVerifiedAsAServerReceivesIt(t *testing.T) {
	key := testKey(t, 1)
	verifier := NewVerifier(VerifierConfig{Keys: []PublicKey{key.PublicKey}, Strict: true})
	verdicts := make(chan Verdict, 1)
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		verdicts <- verifier.Verify(ServerRequest(r), noon)
	}))
	defer server.Close()
	request := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), "GET", server.URL+"/a%2fb//c?d=e", nil))
	request.Header.Set("User-Agent", botAgent)
	if err := newSigner(t, "", key).Sign(request.Header, request.Method, request.URL.Host, request.URL.EscapedPath()); err != nil {
		t.Fatal(err)
	}
	response := must[*http.Response](t)(server.Client().Do(request))
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if v := <-verdicts; !v.OK() {
		t.Errorf("%v over %s", v, v.Base)
	}
}

func TestRequestsKeepTheirSignatureThroughJSON(t *testing.T) {
	key := testKey(t, 1)
	agent := agentOf(t, FormDictionary)
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t)
		s, err := SignRequest(key, agent, r, Params{Created: noon, Expires: noon.Add(Lifetime)})
		if err != nil {
			t.Fatal(err)
		}
		s.Set(r.Header)
		r.Header["Accept"] = []string{"a", "b"}
		data, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseRequestJSON(data)
		if err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		if r.Scheme == "" {
			r.Scheme = "https"
		}
		if diff := cmp.Diff(r, back); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestRequestJSONThatIsRefused(t *testing.T) {
	for name, tc := range map[string]struct{ data, says string }{
		"no JSON":            {`GET /`, "reading"},
		"no method":          {`{"url":"https://shop.example/"}`, `"method"`},
		"no URL":             {`{"method":"GET"}`, `"url"`},
		"more after it":      {`{"method":"GET","url":"https://shop.example/"}{}`, "more after"},
		"a header of number": {`{"method":"GET","url":"https://shop.example/","headers":{"A":1}}`, "string"},
		"a header of null":   {`{"method":"GET","url":"https://shop.example/","headers":{"A":null}}`, "string"},
		"a header twice":     {`{"method":"GET","url":"https://shop.example/","headers":{"user-agent":"a","User-Agent":"b"}}`, "twice"},
		"another Host":       {`{"method":"GET","url":"https://shop.example/","headers":{"host":"else.example"}}`, "Host"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseRequestJSON([]byte(tc.data)); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %v, want one that says %q", err, tc.says)
			}
		})
	}
}
