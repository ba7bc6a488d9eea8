package signing

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	// Lifetime is how long a request's signature is valid: long enough for a slow
	// origin, and the most the strictest known verifier accepts.
	Lifetime = 300 * time.Second
	// NonceSize is the length of a nonce in bytes before base64: the size drafts
	// architecture-01 to -05 recommend and some verifiers insist on.
	NonceSize = 64

	requestTag = "web-bot-auth"

	headerAgent     = "Signature-Agent"
	headerInput     = "Signature-Input"
	headerSignature = "Signature"
)

// Options are what a [Signer] needs; all but Form are required.
type Options struct {
	Keys  KeySet
	Agent string // see [NewAgent]
	Form  Form   // "": [FormDictionary]
	// Now is the clock. It must be safe for concurrent use.
	Now func() time.Time
	// Rand gives the nonces: crypto/rand.Reader. It must be safe for concurrent use.
	Rand io.Reader
}

// Signer signs requests. It is safe for concurrent use.
type Signer struct {
	keys  KeySet
	made  []signingKey // of keys, in their order
	agent Agent
	now   func() time.Time
	rand  io.Reader
}

// signingKey is a key with the part of the parameters that never changes.
type signingKey struct {
	private *secret
	params  string
}

// NewSigner returns a signer that has a valid key now.
func NewSigner(o Options) (*Signer, error) {
	if o.Now == nil || o.Rand == nil {
		return nil, errors.New("making a signer: it needs a clock and randomness")
	}
	agent, err := NewAgent(o.Agent, o.Form)
	if err != nil {
		return nil, fmt.Errorf("making a signer: %w", err)
	}
	if _, err := o.Keys.Current(o.Now()); err != nil {
		return nil, fmt.Errorf("making a signer: %w", err)
	}
	s := &Signer{keys: o.Keys, agent: agent, now: o.Now, rand: o.Rand}
	for _, k := range o.Keys.keys {
		s.made = append(s.made, makeSigningKey(k))
	}
	return s, nil
}

func makeSigningKey(k Key) signingKey {
	return signingKey{k.private, `;keyid="` + k.ID + `";alg="ed25519";tag="` + requestTag + `"`}
}

// Agent returns the Signature-Agent the signer sends.
func (s *Signer) Agent() Agent { return s.agent }

// KeyID returns the thumbprint of the key that signs now.
func (s *Signer) KeyID() (string, error) {
	k, err := s.keys.Current(s.now())
	return k.ID, err
}

// Sign sets the three signature headers in h for a request of path (escaped, as
// sent; a query is not covered) at authority over https. h holds User-Agent
// already: one line of visible ASCII and single or repeated inner spaces.
// On an error h is as it was, and the request must not be sent.
func (s *Signer) Sign(h http.Header, method, authority, path string) error {
	now := s.now()
	i, err := s.keys.current(now)
	if err != nil {
		return fmt.Errorf("signing: %w", err)
	}
	userAgent, err := userAgentOf(h)
	if err != nil {
		return fmt.Errorf("signing: %w", err)
	}
	if err := checkTarget(method, authority, path); err != nil {
		return fmt.Errorf("signing: %w", err)
	}
	// One allocation for the nonce and the base, which is 700 bytes as a rule.
	scratch := make([]byte, NonceSize, 1024)
	nonce := scratch[:NonceSize]
	if _, err := io.ReadFull(s.rand, nonce); err != nil {
		return fmt.Errorf("signing: reading a nonce: %w", err)
	}
	created := now.Unix() // floored: one dated ahead is refused by verifiers without leeway
	base, params := s.agent.appendBase(scratch[NonceSize:], &s.made[i], parts{
		method, normalAuthority("https", authority), pathOnly(path), userAgent,
		created, created + int64(Lifetime/time.Second), nonce,
	})
	values := [...]string{s.agent.header, label + "=" + string(base[params:]), signatureValue(&s.made[i], base)}
	set := values[:]
	h[headerAgent], h[headerInput], h[headerSignature] = set[0:1:1], set[1:2:2], set[2:3:3]
	return nil
}

// Params are what a signature says of itself. Times are floored to the second.
type Params struct {
	Created, Expires time.Time
	Nonce            []byte // written as base64; empty: none
}

// Signed is a signature: the three headers' values and the base they are over.
type Signed struct {
	Agent, Input, Signature string
	Base                    string
}

// SignRequest is what a [Signer] does with the key, the times and the nonce
// given, so that a signature can be made again. The same arguments give the
// same bytes. It accepts the published test key and any window of time.
func SignRequest(k Key, a Agent, r Request, p Params) (Signed, error) {
	if k.private == nil {
		return Signed{}, errors.New("signing: the key has no private half")
	}
	if a.covered == "" {
		return Signed{}, errors.New("signing: there is no signature agent")
	}
	userAgent, err := userAgentOf(r.Header)
	if err != nil {
		return Signed{}, fmt.Errorf("signing: %w", err)
	}
	if err := checkTarget(r.Method, r.Authority, r.Path); err != nil {
		return Signed{}, fmt.Errorf("signing: %w", err)
	}
	made := makeSigningKey(k)
	base, params := a.appendBase(nil, &made, parts{
		r.Method, normalAuthority(r.Scheme, r.Authority), pathOnly(r.Path), userAgent,
		p.Created.Unix(), p.Expires.Unix(), p.Nonce,
	})
	return Signed{
		Agent:     a.header,
		Input:     label + "=" + string(base[params:]),
		Signature: signatureValue(&made, base),
		Base:      string(base),
	}, nil
}

// Set puts the signature into h.
func (s Signed) Set(h http.Header) {
	h.Set(headerAgent, s.Agent)
	h.Set(headerInput, s.Input)
	h.Set(headerSignature, s.Signature)
}

// parts are the values of one signature base, already normal.
type parts struct {
	method, authority, path, userAgent string
	created, expires                   int64
	nonce                              []byte
}

// appendBase writes the signature base (RFC 9421 2.5) into room, which is empty
// and grown when too small. It returns the base and the offset at which the
// signature parameters begin.
func (a *Agent) appendBase(room []byte, k *signingKey, p parts) (base []byte, params int) {
	b := append(room, `"@method": `...)
	b = append(b, p.method...)
	b = append(b, "\n\"@authority\": "...)
	b = append(b, p.authority...)
	b = append(b, "\n\"@path\": "...)
	b = append(b, p.path...)
	b = append(b, "\n\"user-agent\": "...)
	b = append(b, p.userAgent...)
	b = append(b, '\n')
	b = append(b, a.component...)
	b = append(b, ": "...)
	b = append(b, a.value...)
	b = append(b, "\n\"@signature-params\": "...)
	params = len(b)
	b = append(b, a.covered...)
	b = append(b, ";created="...)
	b = strconv.AppendInt(b, p.created, 10)
	b = append(b, ";expires="...)
	b = strconv.AppendInt(b, p.expires, 10)
	if len(p.nonce) != 0 {
		b = append(b, `;nonce="`...)
		b = base64.StdEncoding.AppendEncode(b, p.nonce)
		b = append(b, '"')
	}
	return append(b, k.params...), params
}

// signatureValue signs base and writes the Signature header.
func signatureValue(k *signingKey, base []byte) string {
	var room [len(label) + 3 + 88]byte
	b := append(room[:0], label+"=:"...)
	b = base64.StdEncoding.AppendEncode(b, k.private.sign(base))
	return string(append(b, ':'))
}

// userAgentOf returns the one User-Agent line. A base over anything else could
// not be rebuilt after an intermediary joined or trimmed it.
func userAgentOf(h http.Header) (string, error) {
	lines := h["User-Agent"]
	if len(lines) != 1 || lines[0] == "" {
		return "", fmt.Errorf("%d User-Agent lines where one is wanted", len(lines))
	}
	value := lines[0]
	for i := 0; i < len(value); i++ {
		if value[i] < ' ' || value[i] >= 0x7f {
			return "", fmt.Errorf("User-Agent %q is not ASCII on one line", value)
		}
	}
	if value[0] == ' ' || value[len(value)-1] == ' ' {
		return "", fmt.Errorf("User-Agent %q begins or ends with a space", value)
	}
	return value, nil
}
