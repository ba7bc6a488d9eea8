package signing

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"time"
)

// testKeyID is the thumbprint of the key whose private half is printed in RFC
// 9421 B.1.4: anyone can sign with it (draft 6.8 forbids it in production).
const testKeyID = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"

// PublicKey is what a directory says about a key.
type PublicKey struct {
	// ID is the JWK SHA-256 thumbprint (RFC 7638, RFC 8037 A.3): 43 characters
	// of base64url without padding. It is the keyid of a signature.
	ID string
	// Public is the Ed25519 public key.
	Public ed25519.PublicKey
	// NotBefore is the first instant the key may sign; zero: always.
	NotBefore time.Time
	// Expires is the first instant the key may no longer sign; zero: never.
	Expires time.Time
}

// Begun reports whether NotBefore has come.
func (k PublicKey) Begun(now time.Time) bool {
	return k.NotBefore.IsZero() || !now.Before(k.NotBefore)
}

// Expired reports whether Expires has come.
func (k PublicKey) Expired(now time.Time) bool {
	return !k.Expires.IsZero() && !now.Before(k.Expires)
}

// Published reports whether it is the test key of RFC 9421: a signature by it
// proves nothing, because its private half is printed there.
func (k PublicKey) Published() bool { return k.ID == testKeyID }

// Key is a key that can sign. Its private half cannot be read or printed, only
// written to a file by [WriteKey].
type Key struct {
	PublicKey
	private *secret // nil in the zero Key
}

// secret is behind a pointer because fmt, which calls no String method of an
// unexported field, prints a pointer in a struct as an address.
type secret struct {
	key ed25519.PrivateKey
}

func (s *secret) sign(message []byte) []byte { return ed25519.Sign(s.key, message) }

// NewKey returns the key of a 32-byte Ed25519 seed (RFC 8032 5.1.5). It accepts
// the published test key, for rebuilding vectors; [LoadKey] and [NewKeySet] do not.
func NewKey(seed []byte) (Key, error) {
	if len(seed) != ed25519.SeedSize {
		return Key{}, fmt.Errorf("making a key: the seed has %d bytes, want %d", len(seed), ed25519.SeedSize)
	}
	return keyOf(ed25519.NewKeyFromSeed(seed)), nil
}

// GenerateKey makes a new key from 32 bytes of rand.
func GenerateKey(rand io.Reader) (Key, error) {
	var seed [ed25519.SeedSize]byte
	if _, err := io.ReadFull(rand, seed[:]); err != nil {
		return Key{}, fmt.Errorf("generating a key: reading randomness: %w", err)
	}
	return NewKey(seed[:])
}

func keyOf(private ed25519.PrivateKey) Key {
	public := ed25519.PublicKey(private[ed25519.SeedSize:])
	return Key{PublicKey: PublicKey{ID: Thumbprint(public), Public: public}, private: &secret{private}}
}

// String returns the thumbprint, so that no log line holds a private key.
func (k Key) String() string { return "ed25519 key " + k.ID }

// GoString does for %#v what String does for the other verbs.
func (k Key) GoString() string { return k.String() }

// Thumbprint returns the JWK SHA-256 thumbprint of an Ed25519 public key: the
// required members in lexicographic order without white space (RFC 8037 A.3).
func Thumbprint(public ed25519.PublicKey) string {
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(public) + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
