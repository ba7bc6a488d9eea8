package simweb

import (
	"container/list"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"math/big"
	"sync"
	"time"
)

// issuer mints a leaf for a name under the web's own authority. All leaves share
// one key and are laid out by hand: x509.CreateCertificate verifies what it has
// signed, which would double the cost of a site.
type issuer struct {
	ca      authority
	unknown authority // that no client trusts
	leafKey *ecdsa.PrivateKey
	spki    []byte // of leafKey, DER
	now     time.Time

	mu    sync.Mutex // guards cache and order
	cache map[string]*list.Element
	order *list.List
}

// cachedLeaves bounds the cache: a site's connections are close in time.
const cachedLeaves = 2048

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

type cachedLeaf struct {
	name string
	cert *tls.Certificate
}

func newIssuer(now time.Time) (*issuer, error) {
	i := &issuer{now: now, cache: map[string]*list.Element{}, order: list.New()}
	var err error
	if i.ca, err = newAuthority("Simulated Web Authority", now); err != nil {
		return nil, err
	}
	if i.unknown, err = newAuthority("Nobody's Authority", now); err != nil {
		return nil, err
	}
	if i.leafKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	i.spki, err = x509.MarshalPKIXPublicKey(&i.leafKey.PublicKey)
	return i, err
}

func newAuthority(name string, now time.Time) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	t := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-30 * 24 * time.Hour), NotAfter: now.Add(365 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return authority{}, err
	}
	cert, err := x509.ParseCertificate(der)
	return authority{cert: cert, key: key}, err
}

func (i *issuer) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(i.ca.cert)
	return pool
}

func (i *issuer) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.ca.cert.Raw})
}

// leaf gives the certificate of a site, apex and www, with the fault of h.
func (i *issuer) leaf(site string, h handshake) (*tls.Certificate, error) {
	if h != shakeGood {
		return i.mint(site, h)
	}
	i.mu.Lock()
	if e := i.cache[site]; e != nil {
		i.order.MoveToFront(e)
		i.mu.Unlock()
		return e.Value.(cachedLeaf).cert, nil
	}
	i.mu.Unlock()
	cert, err := i.mint(site, h)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.cache[site] == nil {
		i.cache[site] = i.order.PushFront(cachedLeaf{site, cert})
	}
	if i.order.Len() > cachedLeaves {
		last := i.order.Remove(i.order.Back()).(cachedLeaf)
		delete(i.cache, last.name)
	}
	return cert, nil
}

func (i *issuer) mint(site string, h handshake) (*tls.Certificate, error) {
	by := i.ca
	from, until := i.now.Add(-24*time.Hour), i.now.Add(90*24*time.Hour)
	names := []string{site, "www." + site}
	switch h {
	case shakeExpired:
		from, until = i.now.Add(-90*24*time.Hour), i.now.Add(-24*time.Hour)
	case shakeNotYetValid:
		from = i.now.Add(48 * time.Hour)
	case shakeWrongName:
		names = []string{"hoster.example", "*.hoster.example"}
	case shakeUnknownCA:
		by = i.unknown
	case shakeSelfSigned:
		by.key = i.leafKey
	}
	sum := sha256.Sum256([]byte(site))
	der, err := i.sign(by, binary.BigEndian.Uint64(sum[:])>>1, from, until, names, h == shakeSelfSigned)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: i.leafKey}, nil
}

// DER of the fixed parts of a leaf (RFC 5280, section 4.1).
var (
	derVersion3    = []byte{0xa0, 3, 2, 1, 2}
	derECDSASHA256 = []byte{0x30, 10, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2}
	derTrue        = []byte{1, 1, 0xff} // critical: the subject may be empty
	oidSAN         = []byte{6, 3, 0x55, 0x1d, 0x11}
)

// sign lays out and signs one certificate.
func (i *issuer) sign(by authority, serial uint64, from, until time.Time, names []string, self bool) ([]byte, error) {
	var num [8]byte
	binary.BigEndian.PutUint64(num[:], serial|1<<62) // positive, never padded
	var general []byte
	for _, n := range names {
		general = append(general, der(0x82, []byte(n))...) // dNSName
	}
	subject := der(0x30)
	issuer := by.cert.RawSubject
	if self {
		// subject and issuer equal is what makes a certificate self-signed
		subject = der(0x30, der(0x31, der(0x30, []byte{6, 3, 0x55, 4, 3}, der(0x0c, []byte(names[0])))))
		issuer = subject
	}
	san := der(0x30, oidSAN, derTrue, der(0x04, der(0x30, general)))
	tbs := der(0x30,
		derVersion3,
		der(0x02, num[:]),
		derECDSASHA256,
		issuer,
		der(0x30, derTime(from), derTime(until)),
		subject,
		i.spki,
		der(0xa3, der(0x30, san)),
	)
	sum := sha256.Sum256(tbs)
	sig, err := ecdsa.SignASN1(rand.Reader, by.key, sum[:])
	if err != nil {
		return nil, err
	}
	return der(0x30, tbs, derECDSASHA256, der(0x03, []byte{0}, sig)), nil
}

func derTime(t time.Time) []byte {
	return der(0x17, []byte(t.UTC().Format("060102150405Z"))) // UTCTime, until 2049
}

// der is one tag, length and the parts as contents.
func der(tag byte, parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	out := make([]byte, 0, n+4)
	switch {
	case n < 0x80:
		out = append(out, tag, byte(n))
	case n < 0x100:
		out = append(out, tag, 0x81, byte(n))
	default:
		out = append(out, tag, 0x82, byte(n>>8), byte(n))
	}
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}
