package fetch

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// guard knows which addresses may be dialled: global unicast, outside the
// special-purpose registries of IANA, and those the operator allows.
type guard struct {
	public *ssrf.Guardian
	allow  []netip.Prefix
}

// azureWireServer is a metadata service on a public address, which no
// special-purpose registry lists.
var azureWireServer = netip.MustParsePrefix("168.63.129.16/32")

func newGuard(allow []netip.Prefix) *guard {
	return &guard{
		public: ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(azureWireServer)),
		allow:  allow,
	}
}

// check returns an error when a must not be dialled. An IPv4-mapped address
// is refused whatever it maps: DNS has no use for it.
func (g *guard) check(a netip.Addr) error {
	if !a.IsValid() {
		return errors.New("no address")
	}
	if a.Zone() != "" {
		return fmt.Errorf("%v has a zone", a)
	}
	for _, p := range g.allow {
		if p.Contains(a) {
			return nil
		}
	}
	return g.public.SafeAddr(a)
}

// filter returns those of addrs that may be dialled.
func (g *guard) filter(addrs []netip.Addr) []netip.Addr {
	var ok []netip.Addr
	for _, a := range addrs {
		if g.check(a) == nil {
			ok = append(ok, a)
		}
	}
	return ok
}

// control is a net.Dialer's Control: it sees the address of the socket, past
// everything that could have changed it.
func (g *guard) control(network, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fail(PrivateAddress, "private", fmt.Errorf("guarding %s %s: %w", network, address, err))
	}
	if err := g.check(ap.Addr()); err != nil {
		return fail(PrivateAddress, "private", err)
	}
	return nil
}

// hasRoute says whether this machine has a route to the internet, over
// either family. Connecting a UDP socket looks the route up and sends
// nothing; the addresses are those of a root name server.
func hasRoute() bool {
	for _, a := range []string{"198.41.0.4", "2001:503:ba3e::2:30"} {
		to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(a), 53))
		c, err := net.DialUDP("udp", nil, to)
		if err == nil {
			return c.Close() == nil
		}
		if !errors.Is(err, syscall.ENETUNREACH) {
			return true // it cannot be told: not our fault then
		}
	}
	return false
}
