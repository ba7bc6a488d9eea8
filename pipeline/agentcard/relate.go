package agentcard

import (
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// Relate completes the kinds of the interfaces' hosts and of the signatures'
// key URLs, seen from host (a name, with or without a port), where the card was
// served. Hosts without a public address keep the kind they have.
func (c *Card) Relate(host string) {
	home, _, ok := cutPort(host)
	if !ok {
		home = host
	}
	home = asciiHost(home)
	for i := range c.Interfaces {
		relate(&c.Interfaces[i].HostKind, c.Interfaces[i].Host, home)
	}
	for i := range c.Signatures {
		relate(&c.Signatures[i].JKUKind, c.Signatures[i].JKUHost, home)
	}
}

func relate(kind *HostKind, host, home string) {
	switch *kind {
	case HostUnrelated, HostSame, HostSite, HostOther:
	default:
		return
	}
	name, _, _ := cutPort(host) // splitHost has seen to its form
	name = asciiHost(name)
	switch {
	case name == home:
		*kind = HostSame
	case strings.TrimPrefix(name, "www.") == strings.TrimPrefix(home, "www."), sameSite(name, home):
		*kind = HostSite
	default:
		*kind = HostOther
	}
}

// sameSite says whether two names have one registrable domain. The private part
// of the public suffix list counts: two customers of one hosting platform are
// two sites.
func sameSite(a, b string) bool {
	siteA, err := publicsuffix.EffectiveTLDPlusOne(a)
	if err != nil {
		return false
	}
	siteB, err := publicsuffix.EffectiveTLDPlusOne(b)
	return err == nil && siteA == siteB
}

// asciiHost is a name as DNS has it: A-labels in lower case without a final dot.
// A name IDNA refuses stays as it is and equals only itself.
func asciiHost(name string) string {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if ascii, err := idna.Lookup.ToASCII(name); err == nil {
		return ascii
	}
	return name
}

// sharedAddressSpace is RFC 6598; netip calls it public.
var sharedAddressSpace = netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64, 0, 0}), 10)

// hostKind is the kind of a host by its name alone.
func hostKind(name string) HostKind {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if addr, err := netip.ParseAddr(name); err == nil {
		addr = addr.Unmap()
		switch {
		case addr.IsLoopback(), addr.IsUnspecified():
			return HostLoopback
		case addr.IsPrivate(), addr.IsLinkLocalUnicast(), sharedAddressSpace.Contains(addr):
			return HostPrivate
		}
		return HostUnrelated
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") { // RFC 6761 section 6.3
		return HostLoopback
	}
	// A single label is a container or a machine of a local network. The suffixes
	// are RFC 6762, RFC 8375, ICANN's reserved one and those home routers and
	// Kubernetes use.
	if !strings.Contains(name, ".") {
		return HostPrivate
	}
	for _, suffix := range []string{".local", ".home.arpa", ".internal", ".lan", ".svc", ".intranet", ".corp", ".home"} {
		if strings.HasSuffix(name, suffix) {
			return HostPrivate
		}
	}
	return HostUnrelated
}
