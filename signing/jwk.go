package signing

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// maxNumericDate is the last second of the year 9999; a larger nbf or exp is in
// milliseconds, a known mistake.
const maxNumericDate = 253402300799

// JWK is the public JSON Web Key of a directory (RFC 8037 2). There is no "alg":
// its spelling divides verifiers, its absence none of them. Members are written
// in alphabetical order, so that the bytes are stable.
type JWK struct {
	Crv string `json:"crv"`           // "Ed25519"
	Exp int64  `json:"exp,omitempty"` // seconds since 1970; 0: none
	Kid string `json:"kid"`           // the thumbprint
	Kty string `json:"kty"`           // "OKP"
	Nbf int64  `json:"nbf,omitempty"` // seconds since 1970; 0: none
	Use string `json:"use"`           // "sig"
	X   string `json:"x"`             // base64url of the 32 bytes
}

// JWK returns the key in the form a directory shows.
func (k PublicKey) JWK() JWK {
	return JWK{
		Crv: "Ed25519", Kty: "OKP", Use: "sig", Kid: k.ID,
		X:   base64.RawURLEncoding.EncodeToString(k.Public),
		Nbf: numericDate(k.NotBefore), Exp: numericDate(k.Expires),
	}
}

func numericDate(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// jwkSet is a directory's body (RFC 7517 5).
type jwkSet struct {
	Keys []JWK `json:"keys"`
}

// foreignJWK is a key as others publish it.
type foreignJWK struct {
	Kty string          `json:"kty"`
	Crv string          `json:"crv"`
	X   string          `json:"x"`
	D   json.RawMessage `json:"d"`
	Kid string          `json:"kid"`
	Use string          `json:"use"`
	Nbf *json.Number    `json:"nbf"`
	Exp *json.Number    `json:"exp"`
}

// ParseDirectory reads a JWK Set. Keys that are not Ed25519 or not for signatures
// are passed over (RFC 7517 5). It refuses a body that is no JWK Set, a key
// that cannot be read, a "kid" that is not the thumbprint (draft 5.5), a key
// twice, and a private key.
func ParseDirectory(body []byte) ([]PublicKey, error) {
	var set struct {
		Keys *[]foreignJWK `json:"keys"`
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(&set); err != nil {
		return nil, fmt.Errorf("reading a JWK Set: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("reading a JWK Set: there is more after it")
	}
	if set.Keys == nil {
		return nil, errors.New(`reading a JWK Set: no "keys" (a bare JWK is not a directory)`)
	}
	var keys []PublicKey
	seen := make(map[string]bool)
	for i, jwk := range *set.Keys {
		if jwk.Kty != "OKP" || jwk.Crv != "Ed25519" || (jwk.Use != "" && jwk.Use != "sig") {
			continue
		}
		k, err := jwk.key()
		if err != nil {
			return nil, fmt.Errorf("reading a JWK Set: key %d: %w", i, err)
		}
		if seen[k.ID] {
			return nil, fmt.Errorf("reading a JWK Set: key %d: %s is listed twice", i, k.ID)
		}
		seen[k.ID] = true
		keys = append(keys, k)
	}
	return keys, nil
}

func (j foreignJWK) key() (PublicKey, error) {
	if j.D != nil {
		return PublicKey{}, errors.New(`it holds the private "d": the key is burnt, replace it`)
	}
	x, err := base64.RawURLEncoding.Strict().DecodeString(j.X)
	if err != nil {
		return PublicKey{}, fmt.Errorf(`"x": %w`, err)
	}
	if len(x) != ed25519.PublicKeySize {
		return PublicKey{}, fmt.Errorf(`"x" has %d bytes, want %d`, len(x), ed25519.PublicKeySize)
	}
	k := PublicKey{ID: Thumbprint(x), Public: x}
	if j.Kid != "" && j.Kid != k.ID {
		return PublicKey{}, fmt.Errorf(`"kid" %q is not the thumbprint %s`, j.Kid, k.ID)
	}
	if k.NotBefore, err = dateOf("nbf", j.Nbf); err != nil {
		return PublicKey{}, err
	}
	if k.Expires, err = dateOf("exp", j.Exp); err != nil {
		return PublicKey{}, err
	}
	return k, nil
}

func dateOf(name string, n *json.Number) (time.Time, error) {
	if n == nil {
		return time.Time{}, nil
	}
	seconds, err := n.Int64()
	if err != nil {
		return time.Time{}, fmt.Errorf("%q: %w", name, err)
	}
	if seconds < 0 || seconds > maxNumericDate {
		return time.Time{}, fmt.Errorf("%q is %d, not seconds since 1970", name, seconds)
	}
	return time.Unix(seconds, 0), nil
}
