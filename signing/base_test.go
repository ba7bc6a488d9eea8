package signing

import (
	"net/http"
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"
)

// inner parses a list of components.
func inner(t testing.TB, components string) httpsfv.InnerList {
	t.Helper()
	list := must[httpsfv.List](t)(httpsfv.UnmarshalList([]string{components}))
	covered, ok := list[0].(httpsfv.InnerList)
	if !ok {
		t.Fatalf("%s is not an inner list", components)
	}
	return covered
}

func TestComponents(t *testing.T) {
	request := &message{
		method: "POST", scheme: "https", authority: "WWW.Shop.example:443",
		path: "/a%2fb;c?var=this%20is%20a%20big%0Amultiline%20value&bar=with+plus+whitespace&fa%C3%A7ade%22%3A%20=something&twice=1&twice=2&flag&odd=%zz",
		header: http.Header{
			"Date":            {" Tue, 20 Apr 2021 02:07:56 GMT "},
			"Content-Length":  {"18"},
			"Cache-Control":   {"max-age=60", "   must-revalidate"},
			"X-Empty":         {""},
			"X-Folded":        {"Obsolete\r\n    line folding."},
			"X-Broken":        {"two\r\nlines"},
			"X-Foreign":       {"caf\xc3\xa9"},
			"Example-Dict":    {` a=1,    b=2;x=1;y=2,   c=(a   b    c), d`},
			"Signature-Agent": {`sig1="https://bot.example";type=directory ,  other=(1)`},
			"Example-Set":     {"value, with, lots", "of, commas"},
			"Content-Digest":  {"sha-256=:AAAA:"},
		},
	}
	response := &message{status: 503, header: http.Header{"Content-Type": {"text/html"}}, request: request}
	bare := &message{method: "GET", scheme: "http", authority: "shop.example:80", path: ""}

	for _, tc := range []struct {
		name, component string
		of              *message
		want            string // without an error
		fails           string
	}{
		{"method", `"@method"`, request, "POST", ""},
		{"scheme", `"@scheme"`, request, "https", ""},
		{"authority is lower case without the default port", `"@authority"`, request, "www.shop.example", ""},
		{"authority of http", `"@authority"`, bare, "shop.example", ""},
		{"path keeps its escapes", `"@path"`, request, "/a%2fb;c", ""},
		{"an empty path is a slash", `"@path"`, bare, "/", ""},
		{"no query is a question mark", `"@query"`, bare, "?", ""},
		{"request target", `"@request-target"`, bare, "/", ""},
		{"target URI", `"@target-uri"`, bare, "http://shop.example/", ""},
		{"target URI with a query but no path", `"@target-uri"`, &message{scheme: "https", authority: "shop.example", path: "?a=b"}, "https://shop.example/?a=b", ""},
		{"query", `"@query"`, &message{path: "/?a=b?c"}, "?a=b?c", ""},
		// The three of RFC 9421 2.2.8.
		{"a parameter of several lines", `"@query-param";name="var"`, request, "this%20is%20a%20big%0Amultiline%20value", ""},
		{"a parameter with plus signs", `"@query-param";name="bar"`, request, "with%20plus%20whitespace", ""},
		{"a parameter with an escaped name", `"@query-param";name="fa%C3%A7ade%22%3A%20"`, request, "something", ""},
		{"a parameter without a value", `"@query-param";name="flag"`, request, "", ""},
		{"a parameter with a broken escape", `"@query-param";name="odd"`, request, "%25zz", ""},
		{"a parameter that comes twice", `"@query-param";name="twice"`, request, "", "2 times"},
		{"a parameter that does not come", `"@query-param";name="none"`, request, "", "0 times"},
		{"a parameter without a name", `"@query-param"`, request, "", `no "name"`},
		{"status", `"@status"`, response, "503", ""},
		{"status of a request", `"@status"`, request, "", "no status"},
		{"method of a response", `"@method"`, response, "", "response"},
		{"method of the request of a response", `"@method";req`, response, "POST", ""},
		{"field of the request of a response", `"content-length";req`, response, "18", ""},
		{"req of a request", `"@method";req`, request, "", "no request"},
		{"an unknown derived component", `"@body"`, request, "", "unknown"},
		{"the parameters themselves", `"@signature-params"`, request, "", "unknown"},
		{"a field is trimmed", `"date"`, request, "Tue, 20 Apr 2021 02:07:56 GMT", ""},
		{"lines are joined", `"cache-control"`, request, "max-age=60, must-revalidate", ""},
		{"an empty field", `"x-empty"`, request, "", ""},
		{"a folded field", `"x-folded"`, request, "Obsolete line folding.", ""},
		{"a line break that is no folding", `"x-broken"`, request, "", "byte 0x0d"},
		{"bytes beyond ASCII", `"x-foreign"`, request, "", "byte 0xc3"},
		{"bytes beyond ASCII as bytes", `"x-foreign";bs`, request, ":Y2Fmw6k=:", ""},
		// RFC 9421 2.1.3.
		{"lines as bytes", `"example-set";bs`, request, ":dmFsdWUsIHdpdGgsIGxvdHM=:, :b2YsIGNvbW1hcw==:", ""},
		{"host is kept apart by servers", `"host"`, request, "WWW.Shop.example:443", ""},
		{"a missing field", `"x-none"`, request, "", "no such field"},
		{"a name in upper case", `"Date"`, request, "", "lower-case"},
		{"a name that is a token", `date`, request, "", "lower-case"},
		// RFC 9421 2.1.2.
		{"an integer member", `"example-dict";key="a"`, request, "1", ""},
		{"a true member", `"example-dict";key="d"`, request, "?1", ""},
		{"a member with parameters", `"example-dict";key="b"`, request, "2;x=1;y=2", ""},
		{"a list member", `"example-dict";key="c"`, request, "(a b c)", ""},
		{"the agent's member", `"signature-agent";key="sig1"`, request, `"https://bot.example";type=directory`, ""},
		{"a member that is not there", `"example-dict";key="e"`, request, "", "no member"},
		{"a member by a token", `"example-dict";key=a`, request, "", "not a string"},
		{"a member of no dictionary", `"date";key="a"`, request, "", "character"},
		{"a strict dictionary", `"signature-agent";sf`, request, `sig1="https://bot.example";type=directory, other=(1)`, ""},
		{"strict of an unknown type", `"date";sf`, request, "", `"sf"`},
		{"bytes of a member", `"example-dict";bs;key="a"`, request, "", `"bs"`},
		{"a name for a field", `"date";name="a"`, request, "", `"name"`},
		{"a key for a derived component", `"@path";key="a"`, request, "", "belong"},
		{"a trailer", `"date";tr`, request, "", "not supported"},
		{"an unknown parameter", `"date";x`, request, "", "not supported"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			base, err := tc.of.signatureBase(inner(t, "("+tc.component+");created=1"))
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Fatalf("base %q, error %v, want one that says %q", base, err, tc.fails)
				}
				return
			}
			want := tc.component + ": " + tc.want + "\n\"@signature-params\": (" + tc.component + ");created=1"
			if err != nil || base != want {
				t.Errorf("error %v, base\n%s\nwant\n%s", err, base, want)
			}
		})
	}
}

func TestAComponentIsCoveredOnce(t *testing.T) {
	m := &message{method: "GET", scheme: "https", authority: "shop.example", path: "/?a=1&b=2", header: http.Header{
		"Example": {`a=1, b=2`},
	}}
	for components, twice := range map[string]bool{
		`("@method" "@method")`:                             true,
		`("example";key="a" "@method" "example";key="a")`:   true,
		`("example";key="a" "example";key="b")`:             false,
		`("example" "example";bs)`:                          false,
		`("@query-param";name="a" "@query-param";name="b")`: false,
		`("@query-param";name="a" "@query-param";name="a")`: true,
	} {
		_, err := m.signatureBase(inner(t, components))
		if got := err != nil && strings.Contains(err.Error(), errDuplicate.Error()); got != twice {
			t.Errorf("%s: error %v, want a duplicate: %v", components, err, twice)
		}
	}
	// The order of parameters makes no other component.
	a, b := inner(t, `("example";key="a";req)`).Items[0], inner(t, `("example";req;key="a")`).Items[0]
	if identity(a) != identity(b) {
		t.Errorf("%s and %s are told apart", identity(a), identity(b))
	}
}
