package agentcard

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// The bindings every generation knows.
const (
	bindingJSONRPC = "JSONRPC"
	bindingGRPC    = "GRPC"
	bindingREST    = "HTTP+JSON"
)

// readInterfaces gathers the endpoints of all generations: supportedInterfaces,
// then url with preferredTransport, then additionalInterfaces. In a union card
// the latter two repeat the first and are left out where URL and binding are
// known; a url that names no transport is left out where its URL is known, as
// the default must not contradict a declared binding.
func (c *Card) readInterfaces(o *value) {
	type endpoint struct{ url, binding string }
	type declared struct {
		endpoint
		version, tenant string
	}
	urls := make(map[string]struct{})
	endpoints := make(map[endpoint]struct{})
	whole := make(map[declared]struct{})

	add := func(i Interface) {
		e := endpoint{i.URL, i.Binding}
		d := declared{e, i.VersionRaw, i.Tenant}
		_, urlKnown := urls[i.URL]
		_, known := endpoints[e]
		if i.From == "supportedInterfaces" {
			// One URL may serve several versions or tenants.
			_, known = whole[d]
		}
		if known || i.BindingDefaulted && urlKnown {
			return
		}
		urls[i.URL], endpoints[e], whole[d] = struct{}{}, struct{}{}, struct{}{}
		i.Host, i.HostKind = splitHost(i.URL)
		c.Interfaces = append(c.Interfaces, i)
	}

	for _, m := range o.get("supportedInterfaces").items() {
		if m.kind == object {
			add(readInterface(&m.value, "supportedInterfaces"))
		}
	}
	if u := o.get("url"); u.kind == text {
		i := Interface{URL: u.text, From: "url", BindingRaw: o.get("preferredTransport").str()}
		i.Binding = normaliseBinding(i.BindingRaw)
		if i.BindingRaw == "" {
			i.Binding, i.BindingDefaulted = bindingJSONRPC, true
		}
		add(i)
	}
	for _, m := range o.get("additionalInterfaces").items() {
		if m.kind == object {
			add(readInterface(&m.value, "additionalInterfaces"))
		}
	}

	var bindings, hosts ordered
	for i := range c.Interfaces {
		bindings.add(c.Interfaces[i].Binding)
		hosts.add(c.Interfaces[i].Host)
	}
	c.Bindings, c.InterfaceHosts = bindings.list, hosts.list
}

func readInterface(v *value, from string) Interface {
	i := Interface{
		URL:        v.get("url").str(),
		VersionRaw: v.get("protocolVersion").label(),
		Tenant:     v.get("tenant").str(),
		From:       from,
	}
	// 1.0, 0.2.4 to 0.3, and three keys authors made up.
	for _, key := range []string{"protocolBinding", "transport", "protocol", "transportProtocol", "type"} {
		if i.BindingRaw = v.get(key).str(); i.BindingRaw != "" {
			break
		}
	}
	i.Binding = normaliseBinding(i.BindingRaw)
	if p, ok := parseProtocol(i.VersionRaw); ok {
		i.Version = p.String()
	}
	return i
}

func normaliseBinding(raw string) string {
	switch alphanumeric(raw) {
	case "jsonrpc":
		return bindingJSONRPC
	case "grpc":
		return bindingGRPC
	case "rest", "http", "https", "httpjson", "httprest":
		return bindingREST
	}
	return raw
}

// alphanumeric is s in lower case without anything but ASCII letters and digits.
func alphanumeric(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		}
		return -1
	}, s)
}

// splitHost takes the host[:port] out of an address and says what kind of host
// it is as far as that does not depend on the card's own host. A bare host:port
// is an address too: gRPC targets are written so.
func splitHost(address string) (host string, kind HostKind) {
	address = strings.TrimSpace(address)
	switch {
	case address == "":
		return "", HostEmpty
	case strings.ContainsAny(address, "{}<>"):
		return "", HostPlaceholder
	case strings.ContainsAny(address[:1], "/.?#"):
		return "", HostRelative
	}
	if !strings.Contains(address, "/") {
		if name, port, ok := cutPort(address); ok && port != "" && isHostName(name) {
			host = strings.ToLower(address)
			return host, hostKind(name)
		}
	}
	u, err := url.Parse(address)
	if err != nil || !isHostName(u.Hostname()) {
		return "", HostInvalid
	}
	if p := u.Port(); p != "" {
		if _, err := strconv.ParseUint(p, 10, 16); err != nil {
			return "", HostInvalid
		}
	}
	return strings.ToLower(strings.TrimSuffix(u.Host, ":")), hostKind(u.Hostname())
}

// cutPort splits host[:port]; brackets around an IPv6 address are removed.
func cutPort(s string) (host, port string, ok bool) {
	host = s
	if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, ']') {
		host, port = s[:i], s[i+1:]
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return "", "", false
		}
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	return host, port, true
}

// isHostName says whether s can be a host: an IP address or labels of letters,
// digits, "-" and "_" (seen in names of containers), of any script.
func isHostName(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(s, "."), ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for _, r := range label {
			ascii := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_'
			if !ascii && r < 0x80 {
				return false
			}
		}
	}
	return true
}
