package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"agentcensus/pipeline/fetch"
	"agentcensus/pipeline/resolve"
)

func addrs(s ...string) []netip.Addr {
	var as []netip.Addr
	for _, a := range s {
		as = append(as, netip.MustParseAddr(a))
	}
	return as
}

// dialling makes a world whose name has the given addresses; each dial is
// noted and answered by a function.
func dialling(t *testing.T, as []netip.Addr, allow []netip.Prefix, dial func(ctx context.Context, w *world, a netip.Addr) (net.Conn, error)) (*world, func() []string) {
	var mu sync.Mutex
	var tried []string
	var w *world
	w = newWorld(t, patient, func(c *fetch.Config) {
		c.Allow = allow
		c.Dial = func(ctx context.Context, ap netip.AddrPort, host string) (net.Conn, error) {
			mu.Lock()
			tried = append(tried, ap.Addr().String())
			mu.Unlock()
			if ap.Port() != 443 || host != "site.test" {
				t.Errorf("dialled %v for %s", ap, host)
			}
			return dial(ctx, w, ap.Addr())
		}
	})
	w.dns = func(string) ([]netip.Addr, error) { return as, nil }
	w.serve(pages(map[string]string{"/": ok("x")}), "site.test")
	return w, func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(tried) }
}

func (w *world) reach(ctx context.Context) (net.Conn, error) {
	return w.dial(ctx, netip.AddrPort{}, "site.test")
}

func errno(e syscall.Errno) error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", e)}
}

func TestAddressesThatAreNotPublicAreNotDialled(t *testing.T) {
	for name, a := range map[string]string{
		"loopback":                "127.0.0.1",
		"loopback IPv6":           "::1",
		"unspecified":             "0.0.0.0",
		"this network":            "0.1.2.3",
		"private 10/8":            "10.1.2.3",
		"private 172.16/12":       "172.31.255.255",
		"private 192.168/16":      "192.168.1.1",
		"CGNAT":                   "100.64.0.1",
		"link-local":              "169.254.1.1",
		"link-local IPv6":         "fe80::1",
		"zone":                    "fe80::1%eth0",
		"public with zone":        "2606:4700::1%eth0",
		"metadata":                "169.254.169.254",
		"metadata of AWS, IPv6":   "fd00:ec2::254",
		"metadata of Alibaba":     "100.100.100.200",
		"metadata of Azure":       "168.63.129.16",
		"unique local":            "fd12:3456::1",
		"IPv4-mapped private":     "::ffff:10.0.0.1",
		"IPv4-mapped public":      "::ffff:93.184.216.34",
		"IPv4-compatible":         "::10.0.0.1",
		"NAT64":                   "64:ff9b::a00:1",
		"NAT64 local use":         "64:ff9b:1::a00:1",
		"6to4":                    "2002:a00:1::1",
		"6to4 relay":              "192.88.99.1",
		"Teredo":                  "2001:0:a00:1::1",
		"documentation":           "192.0.2.1",
		"documentation IPv6":      "2001:db8::1",
		"documentation IPv6, new": "3fff::1",
		"benchmarking":            "198.18.0.1",
		"multicast":               "224.0.0.1",
		"multicast IPv6":          "ff02::1",
		"reserved":                "240.0.0.1",
		"broadcast":               "255.255.255.255",
		"outside global unicast":  "5f00::1",
	} {
		t.Run(name, func(t *testing.T) {
			w, tried := dialling(t, addrs(a), nil, func(ctx context.Context, w *world, _ netip.Addr) (net.Conn, error) { return w.reach(ctx) })
			wantError(t, get(t, w.visit(), "site.test/"), fetch.PrivateAddress, "private")
			var e *fetch.Error
			if err := w.visit().Resolve(t.Context(), "site.test"); !errors.As(err, &e) || e.Kind != fetch.PrivateAddress {
				t.Errorf("Resolve: %v", err)
			}
			if got := tried(); len(got) > 0 {
				t.Errorf("dialled %v", got)
			}
		})
	}
}

func TestOnlyThePublicAddressesOfANameAreDialled(t *testing.T) {
	w, tried := dialling(t, addrs("10.0.0.1", "93.184.216.34", "::1"), nil,
		func(context.Context, *world, netip.Addr) (net.Conn, error) { return nil, errno(syscall.ECONNREFUSED) })
	wantError(t, get(t, w.visit(), "site.test/"), fetch.ConnectRefused, "refused")
	if got := tried(); !slices.Equal(got, []string{"93.184.216.34"}) {
		t.Errorf("dialled %v", got)
	}
}

func TestAllowedAddressIsDialled(t *testing.T) {
	w, _ := dialling(t, addrs("127.0.0.9"), []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		func(ctx context.Context, w *world, _ netip.Addr) (net.Conn, error) { return w.reach(ctx) })
	wantBody(t, get(t, w.visit(), "site.test/"), 200, "x")
}

// The dialer of the package itself asks the guard at the socket.
func TestGuardAtTheSocket(t *testing.T) {
	if err := fetch.GuardControl(nil, "10.0.0.1:443"); err == nil {
		t.Error("a private address passed")
	}
	if err := fetch.GuardControl(nil, "[::ffff:10.0.0.1]:443"); err == nil {
		t.Error("a mapped address passed")
	}
	if err := fetch.GuardControl(nil, "93.184.216.34:443"); err != nil {
		t.Error(err)
	}
	if err := fetch.GuardControl(nil, "nonsense"); err == nil {
		t.Error("nonsense passed")
	}
}

func TestBrokenIPv6DoesNotEatTheTime(t *testing.T) {
	for _, how := range []string{"silent", "unreachable"} {
		t.Run(how, func(t *testing.T) {
			var open atomic.Int64
			w, tried := dialling(t, addrs("93.184.216.34", "2606:4700::1"), nil,
				func(ctx context.Context, w *world, a netip.Addr) (net.Conn, error) {
					if a.Is4() {
						return w.reach(ctx)
					}
					if how == "unreachable" {
						return nil, errno(syscall.ENETUNREACH)
					}
					open.Add(1)
					defer open.Add(-1)
					<-ctx.Done()
					return nil, ctx.Err()
				})
			wantBody(t, get(t, w.visit(), "site.test/"), 200, "x")
			if got := tried(); !slices.Equal(got, []string{"2606:4700::1", "93.184.216.34"}) {
				t.Errorf("dialled %v, want IPv6 first", got)
			}
			if n := open.Load(); n != 0 {
				t.Errorf("%d attempts outlived the request", n)
			}
		})
	}
}

// trackedConn tells when it is closed.
type trackedConn struct {
	net.Conn
	closed *atomic.Int64
}

func (c trackedConn) Close() error { c.closed.Add(1); return c.Conn.Close() }

func TestALateConnectionIsClosed(t *testing.T) {
	var closed atomic.Int64
	w, _ := dialling(t, addrs("93.184.216.34", "2606:4700::1"), nil,
		func(ctx context.Context, w *world, a netip.Addr) (net.Conn, error) {
			if a.Is4() {
				return w.reach(ctx)
			}
			<-ctx.Done() // the other has won
			c, err := w.reach(context.Background())
			return trackedConn{c, &closed}, err
		})
	wantBody(t, get(t, w.visit(), "site.test/"), 200, "x")
	if closed.Load() != 1 {
		t.Error("the late connection was not closed")
	}
}

// The package's own dialer loses a race as any other: what its attempt returns
// beside the error is not touched.
func TestTheOwnDialerMayLoseARace(t *testing.T) {
	silent := &net.Dialer{ControlContext: func(ctx context.Context, _, _ string, _ syscall.RawConn) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	lost := make(chan net.Conn, 1)
	w, _ := dialling(t, addrs("93.184.216.34", "2606:4700::1"), nil,
		func(ctx context.Context, w *world, a netip.Addr) (net.Conn, error) {
			if a.Is4() {
				return w.reach(ctx)
			}
			conn, err := fetch.DialWith(silent)(ctx, netip.AddrPortFrom(netip.IPv6Loopback(), 443), "site.test")
			lost <- conn
			return conn, err
		})
	wantBody(t, get(t, w.visit(), "site.test/"), 200, "x")
	if conn := <-lost; conn != nil {
		t.Errorf("a failed dial gives %T", conn)
	}
}

func TestAddressesTriedAreBounded(t *testing.T) {
	var many []netip.Addr
	for i := range 200 {
		many = append(many, netip.AddrFrom4([4]byte{93, 184, 216, byte(i)}))
	}
	w, tried := dialling(t, many, nil, func(context.Context, *world, netip.Addr) (net.Conn, error) { return nil, errno(syscall.ECONNREFUSED) })
	wantError(t, get(t, w.visit(), "site.test/"), fetch.ConnectRefused, "refused")
	if got := tried(); len(got) != 8 {
		t.Errorf("%d addresses tried, want 8", len(got))
	}
}

func TestDialErrors(t *testing.T) {
	four, six := "93.184.216.34", "2606:4700::1"
	for _, c := range []struct {
		name    string
		errs    map[string]syscall.Errno
		offline bool
		kind    fetch.Kind
		reason  string
	}{
		{"refused", map[string]syscall.Errno{four: syscall.ECONNREFUSED}, false, fetch.ConnectRefused, "refused"},
		{"host unreachable", map[string]syscall.Errno{four: syscall.EHOSTUNREACH}, false, fetch.ConnectRefused, "unreachable"},
		{"a far router knows no way", map[string]syscall.Errno{four: syscall.ENETUNREACH}, false, fetch.ConnectRefused, "unreachable"},
		{"this machine knows no way", map[string]syscall.Errno{four: syscall.ENETUNREACH, six: syscall.ENETUNREACH}, true, fetch.Local, "no_route"},
		{"IPv6 site, no IPv6 here", map[string]syscall.Errno{six: syscall.ENETUNREACH}, false, fetch.ConnectRefused, "unreachable"},
		{"no IPv6 address to leave from", map[string]syscall.Errno{six: syscall.EADDRNOTAVAIL}, false, fetch.ConnectRefused, "unreachable"},
		{"no IPv6 here, IPv4 refused", map[string]syscall.Errno{six: syscall.ENETUNREACH, four: syscall.ECONNREFUSED}, true, fetch.ConnectRefused, "refused"},
		{"kernel gave up", map[string]syscall.Errno{four: syscall.ETIMEDOUT}, false, fetch.Timeout, "connect"},
		{"no file descriptors", map[string]syscall.Errno{four: syscall.EMFILE}, false, fetch.Local, "too_many_files"},
		{"no file descriptors at all", map[string]syscall.Errno{four: syscall.ENFILE, six: syscall.ENETUNREACH}, false, fetch.Local, "too_many_files"},
		{"no ports", map[string]syscall.Errno{four: syscall.EADDRNOTAVAIL}, false, fetch.Local, "no_ports"},
		{"no buffers", map[string]syscall.Errno{four: syscall.ENOBUFS}, false, fetch.Local, "no_buffers"},
		{"no memory", map[string]syscall.Errno{four: syscall.ENOMEM}, false, fetch.Local, "no_memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var as []netip.Addr
			for a := range c.errs {
				as = append(as, netip.MustParseAddr(a))
			}
			w, _ := dialling(t, as, nil, func(_ context.Context, _ *world, a netip.Addr) (net.Conn, error) {
				return nil, errno(c.errs[a.String()])
			})
			w.client.SetOnline(!c.offline)
			wantError(t, get(t, w.visit(), "site.test/"), c.kind, c.reason)
		})
	}
}

func TestLookupErrors(t *testing.T) {
	for _, c := range []struct {
		err    error
		kind   fetch.Kind
		reason string
	}{
		{&resolve.Error{Kind: resolve.NotFound, Reason: "not_found"}, fetch.DNSNotFound, "not_found"},
		{&resolve.Error{Kind: resolve.NoAddress, Reason: "no_address"}, fetch.DNSNoAddress, "no_address"},
		{fmt.Errorf("wrapped: %w", &resolve.Error{Kind: resolve.Failed, Reason: "servfail"}), fetch.DNSError, "servfail"},
		{&resolve.Error{Kind: resolve.Failed, Reason: "timeout"}, fetch.DNSError, "timeout"},
		{&resolve.Error{Kind: resolve.Local, Reason: "too_many_files"}, fetch.Local, "too_many_files"},
		{&resolve.Error{Kind: resolve.Canceled}, fetch.Canceled, ""},
		{&net.DNSError{IsNotFound: true}, fetch.DNSNotFound, "not_found"},
		{&net.DNSError{IsTimeout: true}, fetch.DNSError, "timeout"},
		{errors.New("anything"), fetch.DNSError, "servfail"},
		{nil, fetch.DNSNoAddress, "no_address"},
	} {
		w := newWorld(t, patient, nil)
		lookups := 0
		w.dns = func(string) ([]netip.Addr, error) { lookups++; return nil, c.err }
		v := w.visit()
		wantError(t, get(t, v, "site.test/1"), c.kind, c.reason)
		wantError(t, get(t, v, "site.test/2"), c.kind, c.reason)
		want := 1
		if c.kind == fetch.Local || c.kind == fetch.Canceled {
			want = 2 // nothing was learned of the name
		}
		if lookups != want {
			t.Errorf("%v: %d look-ups, want %d", c.err, lookups, want)
		}
	}
}
