package resolve_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentcensus/pipeline/resolve"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// nameserver is a resolver on loopback that answers by a function.
type nameserver struct {
	addr    string
	queries atomic.Int64
	mu      sync.Mutex
	ports   map[string]int // queries by source
	types   map[uint16]int // queries by type
}

// serve starts a nameserver on UDP and TCP.
func serve(t *testing.T, answer func(w dns.ResponseWriter, q *dns.Msg)) *nameserver {
	t.Helper()
	pc, l := listen(t)
	s := &nameserver{addr: pc.LocalAddr().String(), ports: map[string]int{}, types: map[uint16]int{}}
	h := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		s.queries.Add(1)
		s.mu.Lock()
		s.ports[w.RemoteAddr().String()]++
		s.types[q.Question[0].Qtype]++
		s.mu.Unlock()
		answer(w, q)
	})
	var started sync.WaitGroup
	for _, d := range []*dns.Server{{PacketConn: pc, Handler: h}, {Listener: l, Handler: h}} {
		started.Add(1)
		d.NotifyStartedFunc = started.Done
		done := make(chan error, 1)
		go func() { done <- d.ActivateAndServe() }()
		t.Cleanup(func() {
			if err := d.Shutdown(); err != nil {
				t.Error(err)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	started.Wait()
	return s
}

// listen opens one port for UDP and TCP; the port free for one may be taken
// for the other.
func listen(t *testing.T) (net.PacketConn, net.Listener) {
	t.Helper()
	var errs []error
	for range 50 {
		pc, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", pc.LocalAddr().String())
		if err == nil {
			return pc, l
		}
		errs = append(errs, err, pc.Close())
	}
	t.Fatal(errors.Join(errs...))
	return nil, nil
}

// zone answers with the records and codes it holds, NODATA for the rest.
func zone(codes map[string]int, records ...string) func(dns.ResponseWriter, *dns.Msg) {
	var rrs []dns.RR
	for _, r := range records {
		rr, err := dns.NewRR(r)
		if err != nil {
			panic(err) // a mistake in the test itself
		}
		rrs = append(rrs, rr)
	}
	return func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		name, typ := q.Question[0].Name, q.Question[0].Qtype
		m.Rcode = codes[name]
		for range 20 {
			next := name
			for _, rr := range rrs {
				if rr.Header().Name != name {
					continue
				}
				if c, ok := rr.(*dns.CNAME); ok {
					m.Answer = append(m.Answer, rr)
					next = c.Target
				} else if rr.Header().Rrtype == typ {
					m.Answer = append(m.Answer, rr)
				}
			}
			if next == name {
				break
			}
			name = next
		}
		if _, ok := w.RemoteAddr().(*net.UDPAddr); ok {
			m.Truncate(int(q.IsEdns0().UDPSize()))
		}
		_ = w.WriteMsg(m)
	}
}

func open(t *testing.T, c resolve.Config) *resolve.Resolver {
	t.Helper()
	if c.AAAA == resolve.Auto {
		c.AAAA = resolve.Always // whatever the machine of the test has
	}
	r, err := resolve.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func strs(addrs []netip.Addr) []string {
	var s []string
	for _, a := range addrs {
		s = append(s, a.String())
	}
	return s
}

func TestLookupTellsTheAnswersApart(t *testing.T) {
	many := make([]string, 200)
	for i := range many {
		many[i] = fmt.Sprintf("many.example. 60 IN A 192.0.2.%d", i)
	}
	s := serve(t, zone(map[string]int{
		"gone.example.":    dns.RcodeNameError,
		"broken.example.":  dns.RcodeServerFailure,
		"refused.example.": dns.RcodeRefused,
		"odd.example.":     dns.RcodeFormatError,
	}, append(many,
		"both.example. 60 IN A 192.0.2.1",
		"both.example. 60 IN AAAA 2001:db8::1",
		"six.example. 60 IN AAAA 2001:db8::2",
		"mapped.example. 60 IN AAAA ::ffff:10.0.0.1",
		"alias.example. 60 IN CNAME Next.example.",
		"Next.example. 60 IN CNAME both.example.",
		"dangling.example. 60 IN CNAME nothing.example.",
		"loop.example. 60 IN CNAME pool.example.",
		"pool.example. 60 IN CNAME loop.example.",
		`mail.example. 60 IN MX 0 .`,
	)...))
	r := open(t, resolve.Config{Servers: []string{s.addr}, Timeout: 5 * time.Second})
	for _, c := range []struct {
		host   string
		want   []string
		kind   resolve.Kind
		reason string
	}{
		{host: "both.example", want: []string{"192.0.2.1", "2001:db8::1"}},
		{host: "BOTH.example", kind: resolve.NoAddress, reason: "no_address"}, // this zone is case-sensitive
		{host: "six.example", want: []string{"2001:db8::2"}},
		{host: "mapped.example", want: []string{"::ffff:10.0.0.1"}},
		{host: "alias.example", want: []string{"192.0.2.1", "2001:db8::1"}},
		{host: "dangling.example", kind: resolve.NoAddress, reason: "no_address"},
		{host: "mail.example", kind: resolve.NoAddress, reason: "no_address"},
		{host: "loop.example", kind: resolve.Failed, reason: "malformed"},
		{host: "gone.example", kind: resolve.NotFound, reason: "not_found"},
		{host: "broken.example", kind: resolve.Failed, reason: "servfail"},
		{host: "refused.example", kind: resolve.Failed, reason: "refused"},
		{host: "odd.example", kind: resolve.Failed, reason: "malformed"},
	} {
		t.Run(c.host, func(t *testing.T) {
			got, err := r.LookupHost(t.Context(), c.host)
			if d := cmp.Diff(c.want, strs(got)); d != "" {
				t.Error(d)
			}
			wantError(t, err, c.kind, c.reason)
		})
	}
	t.Run("200 addresses come over TCP", func(t *testing.T) {
		got, err := r.LookupHost(t.Context(), "many.example")
		if err != nil || len(got) != len(many) {
			t.Errorf("%d addresses, %v; want %d", len(got), err, len(many))
		}
	})
}

func wantError(t *testing.T, err error, kind resolve.Kind, reason string) {
	t.Helper()
	var e *resolve.Error
	switch {
	case kind == "" && err == nil:
	case !errors.As(err, &e):
		t.Errorf("error %v, want kind %q", err, kind)
	case e.Kind != kind || e.Reason != reason:
		t.Errorf("error %v, want %s (%s)", err, kind, reason)
	}
}

func TestOnlyTheAnswerToTheQuestionIsTaken(t *testing.T) {
	s := serve(t, func(w dns.ResponseWriter, q *dns.Msg) {
		forged := func(change func(*dns.Msg)) {
			m := new(dns.Msg).SetReply(q)
			rr, err := dns.NewRR(q.Question[0].Name + " 60 IN A 203.0.113.66")
			if err != nil {
				panic(err)
			}
			m.Answer = []dns.RR{rr}
			change(m)
			_ = w.WriteMsg(m)
		}
		forged(func(m *dns.Msg) { m.Id++ })
		forged(func(m *dns.Msg) { m.Question[0].Name = "other.example." })
		forged(func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeMX })
		forged(func(m *dns.Msg) { m.Response = false })
		_, _ = w.Write([]byte("short"))
		zone(nil, "site.example. 60 IN A 192.0.2.7", "else.example. 60 IN A 203.0.113.67")(w, q)
	})
	r := open(t, resolve.Config{Servers: []string{s.addr}})
	got, err := r.LookupHost(t.Context(), "site.example")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"192.0.2.7"}, strs(got)); d != "" {
		t.Error(d)
	}
}

func TestAnAnswerCutShortIsMalformed(t *testing.T) {
	s := serve(t, func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		p, err := m.Pack()
		if err != nil {
			panic(err)
		}
		binary.BigEndian.PutUint16(p[6:], 1) // one answer, which is not there
		_, _ = w.Write(append(p, 1, 'x'))
	})
	r := open(t, resolve.Config{Servers: []string{s.addr}})
	_, err := r.LookupHost(t.Context(), "site.example")
	wantError(t, err, resolve.Failed, "malformed")
}

func silent(dns.ResponseWriter, *dns.Msg) {}

func TestASilentServerIsFollowedByTheNext(t *testing.T) {
	quiet := serve(t, silent)
	good := serve(t, zone(nil, "site.example. 60 IN A 192.0.2.7"))
	r := open(t, resolve.Config{Servers: []string{quiet.addr, good.addr}, Timeout: 2 * time.Second})
	for range 3 {
		if _, err := r.LookupHost(t.Context(), "site.example"); err != nil {
			t.Fatal(err)
		}
	}
	if n := quiet.queries.Load(); n != 2 {
		t.Errorf("the silent server was asked %d questions, want the 2 of the first look-up", n)
	}
}

func TestSERVFAILOfOneServerIsNotTheLastWord(t *testing.T) {
	bad := serve(t, zone(map[string]int{"site.example.": dns.RcodeServerFailure}))
	good := serve(t, zone(nil, "site.example. 60 IN A 192.0.2.7"))
	r := open(t, resolve.Config{Servers: []string{bad.addr, good.addr}})
	if _, err := r.LookupHost(t.Context(), "site.example"); err != nil {
		t.Error(err)
	}
}

func TestTimeout(t *testing.T) {
	s := serve(t, silent)
	r := open(t, resolve.Config{Servers: []string{s.addr}, Timeout: 200 * time.Millisecond})
	begun := time.Now()
	_, err := r.LookupHost(t.Context(), "site.example")
	wantError(t, err, resolve.Failed, "timeout")
	if d := time.Since(begun); d < 190*time.Millisecond || d > 2*time.Second {
		t.Errorf("gave up after %v, want 200 ms", d)
	}
}

func TestTimeoutIsThatOfAllQuestionsTogether(t *testing.T) {
	nodata := zone(nil, "site.example. 60 IN MX 0 mail.site.example.")
	var asked atomic.Int64
	s := serve(t, func(w dns.ResponseWriter, q *dns.Msg) {
		// The first A is lost, the second says NODATA, and no AAAA is answered.
		if q.Question[0].Qtype == dns.TypeA && asked.Add(1) > 1 {
			nodata(w, q)
		}
	})
	r := open(t, resolve.Config{Servers: []string{s.addr}, Timeout: 2 * time.Second})
	r.ForgetIPv6()
	begun := time.Now()
	_, err := r.LookupHost(t.Context(), "site.example")
	wantError(t, err, resolve.Failed, "timeout")
	if d := time.Since(begun); d > 2700*time.Millisecond {
		t.Errorf("gave up after %v, want 2 s", d)
	}
}

func TestALostPacketIsAskedAgain(t *testing.T) {
	good := zone(nil, "site.example. 60 IN A 192.0.2.7")
	var n atomic.Int64
	s := serve(t, func(w dns.ResponseWriter, q *dns.Msg) {
		if n.Add(1) > 2 {
			good(w, q)
		}
	})
	r := open(t, resolve.Config{Servers: []string{s.addr}, Timeout: 2 * time.Second})
	if _, err := r.LookupHost(t.Context(), "site.example"); err != nil {
		t.Error(err)
	}
}

func TestASilentAAAADoesNotLoseTheA(t *testing.T) {
	good := zone(nil, "site.example. 60 IN A 192.0.2.7")
	s := serve(t, func(w dns.ResponseWriter, q *dns.Msg) {
		if q.Question[0].Qtype == dns.TypeA {
			good(w, q)
		}
	})
	r := open(t, resolve.Config{Servers: []string{s.addr}, Timeout: 10 * time.Second})
	got, err := r.LookupHost(t.Context(), "site.example")
	if d := cmp.Diff([]string{"192.0.2.7"}, strs(got)); d != "" || err != nil {
		t.Error(d, err)
	}
}

// An AAAA that is too long for UDP and lost over TCP does not lose the A; without
// an A it is what is told.
func TestATruncatedAAAADoesNotLoseTheA(t *testing.T) {
	for name, want := range map[string][]string{"site.example": {"192.0.2.7"}, "six.example": nil} {
		good := zone(nil, "site.example. 60 IN A 192.0.2.7")
		s := serve(t, func(w dns.ResponseWriter, q *dns.Msg) {
			switch {
			case q.Question[0].Qtype == dns.TypeA:
				good(w, q)
			case w.RemoteAddr().Network() == "tcp":
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			default:
				m := new(dns.Msg).SetReply(q)
				m.Truncated = true
				if err := w.WriteMsg(m); err != nil {
					t.Error(err)
				}
			}
		})
		r := open(t, resolve.Config{Servers: []string{s.addr}, Timeout: 2 * time.Second, AAAA: resolve.Always})
		got, err := r.LookupHost(t.Context(), name)
		if d := cmp.Diff(want, strs(got)); d != "" || (err == nil) != (want != nil) {
			t.Errorf("%s: %s %v", name, d, err)
		}
	}
}

// A resolver that is not there is no fault of a name, and one that is started
// again in time is not even noticed.
func TestNobodyListening(t *testing.T) {
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := pc.LocalAddr().String()
	if err := pc.Close(); err != nil {
		t.Fatal(err)
	}
	t.Run("at all", func(t *testing.T) {
		r := open(t, resolve.Config{Servers: []string{addr}, Timeout: 600 * time.Millisecond})
		_, err := r.LookupHost(t.Context(), "site.example")
		wantError(t, err, resolve.Local, "resolver_gone")
	})
	t.Run("but at the other server", func(t *testing.T) {
		s := serve(t, zone(nil, "site.example. 60 IN A 192.0.2.7"))
		r := open(t, resolve.Config{Servers: []string{addr, s.addr}, Timeout: time.Minute})
		if _, err := r.LookupHost(t.Context(), "site.example"); err != nil {
			t.Error(err)
		}
	})
	t.Run("until it is started again", func(t *testing.T) {
		r := open(t, resolve.Config{Servers: []string{addr}, Timeout: time.Minute, AAAA: resolve.Never})
		done := make(chan error, 1)
		go func() {
			_, err := r.LookupHost(t.Context(), "site.example")
			done <- err
		}()
		pc, err := net.ListenPacket("udp", addr)
		if err != nil {
			t.Fatal(err)
		}
		s := &dns.Server{PacketConn: pc, Handler: dns.HandlerFunc(zone(nil, "site.example. 60 IN A 192.0.2.7"))}
		ended := make(chan error, 1)
		go func() { ended <- s.ActivateAndServe() }()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := errors.Join(s.Shutdown(), <-ended); err != nil {
			t.Error(err)
		}
	})
}

func TestAContextEndsALookup(t *testing.T) {
	asked := make(chan struct{}, 2)
	s := serve(t, func(dns.ResponseWriter, *dns.Msg) { asked <- struct{}{} })
	r := open(t, resolve.Config{Servers: []string{s.addr}, Timeout: time.Minute, InFlight: 1})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	_, err := r.LookupHost(ctx, "site.example")
	wantError(t, err, resolve.Canceled, "")
}

func TestLookupsInFlightAreBounded(t *testing.T) {
	var now, most atomic.Int64
	release := make(chan struct{})
	arrived := make(chan struct{}, 8)
	good := zone(nil, "site.example. 60 IN A 192.0.2.7")
	s := serve(t, func(w dns.ResponseWriter, q *dns.Msg) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		arrived <- struct{}{}
		<-release
		now.Add(-1)
		good(w, q)
	})
	r := open(t, resolve.Config{Servers: []string{s.addr}, InFlight: 2, AAAA: resolve.Never})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := r.LookupHost(t.Context(), "site.example"); err != nil {
				t.Error(err)
			}
		})
	}
	<-arrived
	<-arrived
	close(release)
	wg.Wait()
	if most.Load() != 2 {
		t.Errorf("%d look-ups in flight, want 2", most.Load())
	}
}

func TestSocketsAreUsedAgainAndRotated(t *testing.T) {
	s := serve(t, zone(nil, "site.example. 60 IN A 192.0.2.7"))
	r := open(t, resolve.Config{Servers: []string{s.addr}, AAAA: resolve.Never})
	const n = 640
	for range n {
		if _, err := r.LookupHost(t.Context(), "site.example"); err != nil {
			t.Fatal(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := len(s.ports); got < n/64 || got > n/32 {
		t.Errorf("%d queries came from %d ports", n, got)
	}
}

func TestWhatIsAskedFor(t *testing.T) {
	for _, c := range []struct {
		name   string
		aaaa   resolve.AAAA
		noIPv6 bool
		host   string
		want   map[uint16]int
	}{
		{"always", resolve.Always, false, "four.example", map[uint16]int{dns.TypeA: 1, dns.TypeAAAA: 1}},
		{"never", resolve.Never, false, "none.example", map[uint16]int{dns.TypeA: 1}},
		{"auto without IPv6, an A", resolve.Auto, true, "four.example", map[uint16]int{dns.TypeA: 1}},
		{"auto without IPv6, no A", resolve.Auto, true, "six.example", map[uint16]int{dns.TypeA: 1, dns.TypeAAAA: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, zone(nil, "four.example. 60 IN A 192.0.2.7", "six.example. 60 IN AAAA 2001:db8::7"))
			r := open(t, resolve.Config{Servers: []string{s.addr}, AAAA: c.aaaa})
			if c.noIPv6 {
				r.ForgetIPv6()
			}
			_, err := r.LookupHost(t.Context(), c.host)
			var e *resolve.Error
			if err != nil && !(errors.As(err, &e) && e.Kind == resolve.NoAddress) {
				t.Fatal(err)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if d := cmp.Diff(c.want, s.types); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestConfirmCountsTheServersThatSayNXDOMAIN(t *testing.T) {
	gone := map[string]int{"site.example.": dns.RcodeNameError}
	a, b := serve(t, zone(gone)), serve(t, zone(nil))
	c := serve(t, zone(map[string]int{"site.example.": dns.RcodeServerFailure}))
	r := open(t, resolve.Config{Servers: []string{a.addr, b.addr, c.addr}})
	agree, asked, err := r.Confirm(t.Context(), "site.example")
	if agree != 1 || asked != 2 || err != nil {
		t.Errorf("agree %d, asked %d, %v; want 1, 2, nil", agree, asked, err)
	}
	only := open(t, resolve.Config{Servers: []string{c.addr}})
	if _, asked, err := only.Confirm(t.Context(), "site.example"); asked != 0 || err == nil {
		t.Errorf("asked %d, %v; want an error when no server says", asked, err)
	}
}

func TestClosedResolver(t *testing.T) {
	s := serve(t, zone(nil))
	r, err := resolve.New(resolve.Config{Servers: []string{s.addr}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = r.LookupHost(t.Context(), "site.example")
	wantError(t, err, resolve.Canceled, "")
}

func TestNewRefusesWhatItCannotUse(t *testing.T) {
	for name, c := range map[string]resolve.Config{
		"a name instead of an address": {Servers: []string{"resolver.example:53"}},
		"no port":                      {Servers: []string{"192.0.2.53"}},
		"negative timeout":             {Servers: []string{"192.0.2.53:53"}, Timeout: -1},
	} {
		if _, err := resolve.New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := os.Stat("/etc/resolv.conf"); err == nil {
		if _, err := resolve.New(resolve.Config{}); err != nil {
			t.Errorf("the system's resolvers: %v", err)
		}
	}
}
