package agentcard

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInterfacesOfMixedCards(t *testing.T) {
	for _, test := range []struct {
		name, body string
		want       []string // url, binding, version, tenant, from; "*" marks a default
	}{
		{"union repeats an endpoint", string(testCard(t, "union_03_10.json")), []string{
			"https://snow.example/v03 JSONRPC 0.3  supportedInterfaces",
			"https://snow.example/v1 HTTP+JSON 1.0  supportedInterfaces",
		}},
		{"one URL for versions and tenants", string(testCard(t, "v10_every_scheme_form.json")), []string{
			"https://toll.example/v1 JSONRPC 1.0 north supportedInterfaces",
			"https://toll.example/v1 JSONRPC 1.0 south supportedInterfaces",
			"https://toll.example/v1 JSONRPC 0.3  supportedInterfaces",
			"https://toll.example/mcp https://bindings.example/own 1.0  supportedInterfaces",
		}},
		{"a default does not contradict a declaration", `{"name":"a","url":"u","supportedInterfaces":[{"url":"u","protocolBinding":"GRPC"}]}`,
			[]string{"u GRPC   supportedInterfaces"}},
		{"another url is another endpoint", `{"name":"a","url":"v","supportedInterfaces":[{"url":"u","protocolBinding":"GRPC"},{"url":"u","protocolBinding":"GRPC"}]}`,
			[]string{"u GRPC   supportedInterfaces", "v JSONRPC*   url"}},
		{"default transport", `{"name":"a","url":"u","skills":[],"defaultInputModes":[],"additionalInterfaces":[{"url":"u","transport":"rest"},"x",{"url":"w"}]}`,
			[]string{"u JSONRPC*   url", "u HTTP+JSON   additionalInterfaces", "w    additionalInterfaces"}},
		{"no url", string(testCard(t, "r4_no_url.json")), nil},
	} {
		v, c := Read([]byte(test.body))
		if v.Kind != Is {
			t.Errorf("%s: %+v", test.name, v)
		}
		var got []string
		for _, i := range c.Interfaces {
			mark := ""
			if i.BindingDefaulted {
				mark = "*"
			}
			got = append(got, fmt.Sprintf("%s %s%s %s %s %s", i.URL, i.Binding, mark, i.Version, i.Tenant, i.From))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.name, diff)
		}
	}
}

func TestBindings(t *testing.T) {
	for raw, want := range map[string]string{
		"JSONRPC": "JSONRPC", "json-rpc": "JSONRPC", "JsonRpc": "JSONRPC", "grpc": "GRPC", "gRPC": "GRPC",
		"HTTP+JSON": "HTTP+JSON", "http+json": "HTTP+JSON", "REST": "HTTP+JSON", "http": "HTTP+JSON", "https": "HTTP+JSON",
		"http-rest": "HTTP+JSON", "http_json": "HTTP+JSON", "MCP": "MCP", "stdio": "stdio", "sse": "sse", "": "",
		"https://bindings.example/b": "https://bindings.example/b",
	} {
		for _, key := range []string{"protocolBinding", "transport", "protocol", "transportProtocol", "type"} {
			_, c := Read([]byte(`{"name":"a","supportedInterfaces":[{"url":"u","protocolVersion":"1.0","` + key + `":"` + raw + `"}]}`))
			if got := c.Interfaces[0]; got.Binding != want || got.BindingRaw != raw {
				t.Errorf("%s %q: %q (%q), want %q", key, raw, got.Binding, got.BindingRaw, want)
			}
		}
	}
}

// TestHosts has every kind of address, seen from a card at www.fern.example.co.uk.
func TestHosts(t *testing.T) {
	for _, test := range []struct {
		url, host string
		kind      HostKind
	}{
		{"https://www.fern.example.co.uk/a2a", "www.fern.example.co.uk", HostSame},
		{"HTTPS://WWW.Fern.Example.co.uk:8443/", "www.fern.example.co.uk:8443", HostSame},
		{"https://www.fern.example.co.uk./", "www.fern.example.co.uk.", HostSame},
		{"https://user:secret@www.fern.example.co.uk/", "www.fern.example.co.uk", HostSame},
		{"https://www.fern.example.co.uk:/", "www.fern.example.co.uk", HostSame},
		{"https://fern.example.co.uk", "fern.example.co.uk", HostSite},
		{"https://agents.example.co.uk", "agents.example.co.uk", HostSite},
		{"https://example.co.uk", "example.co.uk", HostSite},
		{"https://other.co.uk", "other.co.uk", HostOther},
		{"https://co.uk", "co.uk", HostOther},
		{"https://ferns.run.app/x", "ferns.run.app", HostOther},
		{"agents.example.co.uk:443", "agents.example.co.uk:443", HostSite},
		{"https://8.8.8.8/", "8.8.8.8", HostOther},
		{"https://[2001:4860::1]:444/", "[2001:4860::1]:444", HostOther},
		{"http://localhost:8000", "localhost:8000", HostLoopback},
		{"localhost:8000", "localhost:8000", HostLoopback},
		{"http://a.localhost", "a.localhost", HostLoopback},
		{"http://127.9.9.9", "127.9.9.9", HostLoopback},
		{"http://0.0.0.0:9", "0.0.0.0:9", HostLoopback},
		{"http://[::1]:9", "[::1]:9", HostLoopback},
		{"[::1]:50051", "[::1]:50051", HostLoopback},
		{"http://[::ffff:127.0.0.1]", "[::ffff:127.0.0.1]", HostLoopback},
		{"http://10.1.2.3", "10.1.2.3", HostPrivate},
		{"http://192.168.0.1", "192.168.0.1", HostPrivate},
		{"http://169.254.169.254", "169.254.169.254", HostPrivate},
		{"http://100.64.0.1", "100.64.0.1", HostPrivate},
		{"http://[::ffff:100.64.0.1]", "[::ffff:100.64.0.1]", HostPrivate},
		{"http://[fe80::1%25eth0]", "[fe80::1%eth0]", HostPrivate},
		{"http://[fd00::1]", "[fd00::1]", HostPrivate},
		{"http://agent_one:8080/", "agent_one:8080", HostPrivate},
		{"http://agent.prod.svc.cluster.local", "agent.prod.svc.cluster.local", HostPrivate},
		{"https://agent.corp.internal", "agent.corp.internal", HostPrivate},
		{"/a2a/v1", "", HostRelative},
		{"./a2a", "", HostRelative},
		{"//fern.example/a2a", "", HostRelative},
		{"?a2a", "", HostRelative},
		{"https://{HOST}/a2a", "", HostPlaceholder},
		{"${BASE_URL}/a2a", "", HostPlaceholder},
		{"https://<your-host>/", "", HostPlaceholder},
		{"", "", HostEmpty},
		{"  ", "", HostEmpty},
		{"REPLACE_WITH_URL", "", HostInvalid},
		{"fern.example/a2a", "", HostInvalid},
		{"urn:agent:fern", "", HostInvalid},
		{"https://", "", HostInvalid},
		{"https://our agent/", "", HostInvalid},
		{"https://a..b/", "", HostInvalid},
		{"https://a.example:99999/", "", HostInvalid},
		{"https://%zz/", "", HostInvalid},
	} {
		c := Card{Interfaces: []Interface{{URL: test.url}}, Signatures: []Signature{{JKU: test.url}}}
		host, kind := splitHost(test.url)
		c.Interfaces[0].Host, c.Interfaces[0].HostKind = host, kind
		c.Signatures[0].JKUHost, c.Signatures[0].JKUKind = host, kind
		for range 2 { // asking twice changes nothing
			c.Relate("www.fern.example.co.uk:443")
		}
		if host != test.host || c.Interfaces[0].HostKind != test.kind || c.Signatures[0].JKUKind != test.kind {
			t.Errorf("%q: host %q, %q and %q; want %q, %q", test.url, host, c.Interfaces[0].HostKind, c.Signatures[0].JKUKind, test.host, test.kind)
		}
	}
}

func TestRelateKnowsApexAndInternationalNames(t *testing.T) {
	for _, test := range []struct {
		url, home string
		want      HostKind
	}{
		{"https://bücher.example/", "xn--bcher-kva.example", HostSame},
		{"https://XN--BCHER-KVA.example/", "bücher.example", HostSame},
		{"https://www.localsite/", "localsite", HostSite}, // no registrable domain, www alone
		{"https://shop.github.io/", "other.github.io", HostOther},
		{"https://a.shop.github.io/", "shop.github.io", HostSite},
	} {
		c := Card{Interfaces: []Interface{{}}}
		c.Interfaces[0].Host, c.Interfaces[0].HostKind = splitHost(test.url)
		c.Relate(test.home)
		if got := c.Interfaces[0].HostKind; got != test.want {
			t.Errorf("%s from %s: %q, want %q", test.url, test.home, got, test.want)
		}
	}
}
