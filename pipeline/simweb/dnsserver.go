package simweb

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// serveNames starts DNS server number i on UDP and TCP.
func (w *Web) serveNames(ctx context.Context, i int) error {
	var lc net.ListenConfig
	for range 20 { // until both protocols have one port
		pc, err := lc.ListenPacket(ctx, "udp4", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("listen for DNS: %w", err)
		}
		l, err := lc.Listen(ctx, "tcp4", pc.LocalAddr().String())
		if err != nil {
			w.note(pc.Close())
			continue
		}
		w.resolver = append(w.resolver, pc.LocalAddr().String())
		h := dns.HandlerFunc(func(rw dns.ResponseWriter, m *dns.Msg) { w.answerName(i, rw, m) })
		for _, s := range []*dns.Server{{PacketConn: pc, Handler: h}, {Listener: l, Handler: h}} {
			if err := w.run(s); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("listen for DNS: no port is free for both UDP and TCP")
}

// run starts a DNS server and waits until it can be shut down.
func (w *Web) run(s *dns.Server) error {
	ready, failed := make(chan struct{}), make(chan error, 1)
	s.NotifyStartedFunc = func() { close(ready) }
	w.wg.Add(1)
	go func() {
		defer w.wg.Done()
		if err := s.ActivateAndServe(); err != nil {
			failed <- err
			if !w.isClosed() {
				w.note(fmt.Errorf("simweb: DNS: %w", err))
			}
		}
	}()
	select {
	case <-ready:
		w.names = append(w.names, s)
		return nil
	case err := <-failed:
		return fmt.Errorf("serve DNS: %w", err)
	}
}

// ttl of all records in seconds.
const ttl = 60

func (w *Web) answerName(server int, rw dns.ResponseWriter, q *dns.Msg) {
	if len(q.Question) != 1 {
		w.note(ignoreGone(rw.WriteMsg(new(dns.Msg).SetRcode(q, dns.RcodeFormatError))))
		return
	}
	name := strings.ToLower(strings.TrimSuffix(q.Question[0].Name, "."))
	kind := q.Question[0].Qtype
	e := Entry{
		Kind: KindDNS, Host: name, Addr: dns.TypeToString[kind], Start: w.cfg.Now(),
		Remote: rw.RemoteAddr().String(), Origin: strconv.Itoa(server),
	}
	m := w.resolve(server, name, kind, q)
	e.End = w.cfg.Now()
	if m == nil {
		e.Fault = "silent"
		w.log.add(e)
		return
	}
	e.Status = m.Rcode
	w.log.add(e)
	if rw.RemoteAddr().Network() == "udp" {
		size := dns.MinMsgSize
		if o := q.IsEdns0(); o != nil {
			size = int(o.UDPSize())
		}
		m.Truncate(size)
	}
	if err := ignoreGone(rw.WriteMsg(m)); err != nil && !w.isClosed() {
		w.note(fmt.Errorf("simweb: DNS answer: %w", err))
	}
}

// resolve makes the answer to one question; nil is silence.
func (w *Web) resolve(server int, name string, kind uint16, q *dns.Msg) *dns.Msg {
	m := new(dns.Msg).SetReply(q)
	m.RecursionAvailable = true
	if q.IsEdns0() != nil {
		m.SetEdns0(1232, false)
	}
	p := w.plan(name, int(w.epoch.Load()))
	if p == nil {
		m.Rcode = dns.RcodeNameError
		return m
	}
	p = p.at(name)
	d := p.dns
	if d.silent {
		return nil
	}
	w.sleep(d.delay, nil)
	m.Rcode = d.rcode
	if d.firstOnly && server > 0 {
		m.Rcode = dns.RcodeSuccess
	}
	if m.Rcode != dns.RcodeSuccess {
		return m
	}
	owner := q.Question[0].Name
	for i := range d.aliases {
		next := dns.Fqdn(fmt.Sprintf("edge%d.hosting.example", i+1))
		m.Answer = append(m.Answer, &dns.CNAME{
			Hdr: dns.RR_Header{Name: owner, Rrtype: dns.TypeCNAME, Class: dns.ClassINET, Ttl: ttl}, Target: next,
		})
		owner = next
	}
	for _, a := range w.addresses(p) {
		switch {
		case kind == dns.TypeA && a.Is4():
			m.Answer = append(m.Answer, &dns.A{
				Hdr: dns.RR_Header{Name: owner, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: ttl}, A: a.AsSlice(),
			})
		case kind == dns.TypeAAAA && a.Is6():
			m.Answer = append(m.Answer, &dns.AAAA{
				Hdr: dns.RR_Header{Name: owner, Rrtype: dns.TypeAAAA, Class: dns.ClassINET, Ttl: ttl}, AAAA: a.AsSlice(),
			})
		}
	}
	return m
}

// addresses of a host, both families.
func (w *Web) addresses(p *plan) []netip.Addr {
	d := p.dns
	if d.addrs != nil {
		return d.addrs
	}
	if d.none {
		return nil
	}
	if w.cfg.Addresses == Loopback {
		if p.link == linkRefused {
			return []netip.Addr{netip.AddrFrom4([4]byte{127, 86, 255, 1})} // nothing listens there
		}
		a := w.listen[p.seed%uint64(len(w.listen))].Addr().(*net.TCPAddr)
		return []netip.Addr{a.AddrPort().Addr().Unmap()}
	}
	var out []netip.Addr
	for i := range max(d.count, 1) {
		out = append(out, publicV4(mix(p.seed+uint64(i))))
	}
	if d.mixed {
		out = append(out, fixed("10.0.0.5")...)
	}
	if d.brokenV6 || p.hash("v6")%10 < 3 {
		out = append(out, publicV6(p.seed))
	}
	return out
}

// publicV4 makes an address that no registry has set aside.
func publicV4(hash uint64) netip.Addr {
	firsts := [...]byte{23, 34, 45, 52, 64, 80, 93, 104, 151, 212}
	return netip.AddrFrom4([4]byte{firsts[hash%10], byte(hash >> 8), byte(hash >> 16), byte(hash>>24) | 1})
}

func publicV6(hash uint64) netip.Addr {
	var a [16]byte
	a[0], a[1], a[2] = 0x2a, 0x01, 0x04
	for i := range 8 {
		a[8+i] = byte(hash >> (8 * i))
	}
	return netip.AddrFrom16(a)
}

// The addresses that a crawl must never dial, by the registries of special
// purpose addresses (RFC 6890) and their successors.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("224.0.0.0/3"),
	netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("3fff::/20"),
}

// global is the part of IPv6 that is assigned for the internet: IPv4-mapped,
// NAT64, unique local and link-local addresses lie outside.
var global = netip.MustParsePrefix("2000::/3")

// public says whether a may be dialled at all.
func public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" || a.Is6() && !global.Contains(a) {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// nameService is how the name of a host resolves.
type nameService struct {
	effect    effect // on the site, when it gives no address to dial
	rcode     int
	silent    bool
	delay     time.Duration
	firstOnly bool // rcode holds for the first server only
	none      bool // the name exists and has no address
	count     int  // of IPv4 addresses
	brokenV6  bool // an IPv6 address that swallows every packet, a good IPv4 one
	mixed     bool // a private address after the public one
	aliases   int  // length of the CNAME chain
	addrs     []netip.Addr
}

func fixed(addrs ...string) []netip.Addr {
	out := make([]netip.Addr, len(addrs))
	for i, a := range addrs {
		out[i] = netip.MustParseAddr(a)
	}
	return out
}

var privateEffect = effect{outcome: "private_address", reason: "private"}

// nameServices are the DNS behaviours by name.
var nameServices = map[string]*nameService{
	"ok":            {},
	"nxdomain":      {rcode: dns.RcodeNameError, effect: effect{outcome: "dns_not_found", reason: "not_found"}},
	"nxdomain_once": {rcode: dns.RcodeNameError, firstOnly: true, effect: effect{outcome: "dns_not_found", reason: "not_found"}},
	"nodata":        {none: true, effect: effect{outcome: "dns_no_address", reason: "no_address"}},
	"servfail":      {rcode: dns.RcodeServerFailure, effect: effect{outcome: "dns_error", reason: "servfail"}},
	"dns_refused":   {rcode: dns.RcodeRefused, effect: effect{outcome: "dns_error", reason: "refused"}},
	"dns_silent":    {silent: true, effect: effect{outcome: "dns_error", reason: "timeout"}},
	"dns_slow":      {delay: 300 * time.Millisecond},
	"alias":         {aliases: 4},
	"alias_nodata":  {aliases: 2, none: true, effect: effect{outcome: "dns_no_address", reason: "no_address"}},
	"many":          {count: 200},
	"mixed":         {mixed: true},
	"v6_broken":     {brokenV6: true},
	"private":       {addrs: fixed("10.1.2.3", "192.168.7.7"), effect: privateEffect},
	"loopback":      {addrs: fixed("127.0.0.1", "::1"), effect: privateEffect},
	"metadata":      {addrs: fixed("169.254.169.254"), effect: privateEffect},
	"metadata_v6":   {addrs: fixed("fd00:ec2::254"), effect: privateEffect},
	"shared":        {addrs: fixed("100.64.3.4"), effect: privateEffect},
	"unspecified":   {addrs: fixed("0.0.0.0", "::"), effect: privateEffect},
	"mapped":        {addrs: fixed("::ffff:10.0.0.1"), effect: privateEffect},
	"nat64":         {addrs: fixed("64:ff9b::a00:1"), effect: privateEffect},
	"6to4":          {addrs: fixed("2002:a00:1::1"), effect: privateEffect},
	"unique_local":  {addrs: fixed("fd12:3456::1"), effect: privateEffect},
	"link_local":    {addrs: fixed("fe80::1"), effect: privateEffect},
	"multicast":     {addrs: fixed("224.0.0.1", "ff02::1"), effect: privateEffect},
}
