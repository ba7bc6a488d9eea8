package bench

import (
	"crypto/x509"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// requestTimeout is what every client allows a request.
const requestTimeout = 5 * time.Second

// Reach is how a client gets to the simulated web, the same for all of them.
type Reach struct {
	Resolvers []string // host:port
	Port      int      // of TLS, on every address
	Roots     []byte   // the web's certificate authority, PEM
	// DeadShare of the names, 0 to 1, never answer a connection attempt: the
	// dialling waits as if every SYN were lost.
	DeadShare float64
}

// loopback is where the simulated web listens.
var loopback = netip.MustParsePrefix("127.86.0.0/16")

// pool holds the web's authority.
func (r Reach) pool() (*x509.CertPool, error) {
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(r.Roots) {
		return nil, errors.New("bench: no certificate authority of the web")
	}
	return p, nil
}

// dead says whether nobody answers under a name.
func (r Reach) dead(host string) bool { return chance(host, "dead") < r.DeadShare }

// address is one of the web's addresses for a host, without DNS.
func (r Reach) address(host string) netip.AddrPort {
	a := loopback.Addr().As4()
	a[3] = 1 + byte(chance(host, "address")*64)
	return netip.AddrPortFrom(netip.AddrFrom4(a), uint16(r.Port))
}

// chance is a number from 0 up to 1 that depends on its arguments alone.
func chance(host, label string) float64 {
	h := fnv.New64a()
	h.Write([]byte(label)) // a hash never fails to write
	h.Write([]byte(host))
	x := h.Sum64()
	// The finaliser of MurmurHash3: FNV's high bits hardly differ between
	// names that differ at their end.
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}

// siteName is entry number n, from 1, of the list that all clients ask.
func siteName(n int) string { return fmt.Sprintf("site%07d.example", n) }

// siteNumber undoes siteName; 0 for other names.
func siteNumber(name string) int {
	digits, ok := strings.CutSuffix(name, ".example")
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimPrefix(digits, "site"))
	if err != nil {
		return 0
	}
	return n
}
