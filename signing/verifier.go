package signing

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

const (
	// DefaultMaxLifetime is the longest validity the drafts recommend.
	DefaultMaxLifetime = 24 * time.Hour
	// maxSignatures and maxComponents bound the work one request can ask for.
	maxSignatures = 4
	maxComponents = 64
)

// VerifierConfig says whose signatures are accepted.
type VerifierConfig struct {
	// Keys are the agent's keys, from [ParseDirectory] or [KeySet.Public].
	Keys []PublicKey
	// Agent is the Signature-Agent value the keys were published under, which a
	// request must then name: a key belongs to its directory (draft 5.4). "" when
	// the directory's origin is not known: any https value will do.
	Agent string
	// MaxLifetime bounds expires - created; 0: [DefaultMaxLifetime].
	MaxLifetime time.Duration
	// Nonces, when given, refuses a nonce it has seen.
	Nonces *NonceMemory
	// Strict asks for this package's own profile: one signature, labelled sig1,
	// over all five components with its own Signature-Agent member, alg and a
	// 64-byte nonce present, at most [Lifetime] long, over https.
	Strict bool
}

// Verifier checks requests against one agent's keys. It is safe for concurrent use.
type Verifier struct {
	config VerifierConfig
	keys   map[string]PublicKey
}

// NewVerifier returns a verifier for the configuration.
func NewVerifier(c VerifierConfig) *Verifier {
	if c.MaxLifetime == 0 {
		c.MaxLifetime = DefaultMaxLifetime
	}
	if c.Strict {
		c.MaxLifetime = min(c.MaxLifetime, Lifetime)
	}
	v := &Verifier{config: c, keys: make(map[string]PublicKey, len(c.Keys))}
	for _, k := range c.Keys {
		v.keys[k.ID] = k
	}
	return v
}

// Verify checks r at now, which is floored to the second as signatures are. Of
// several signatures with the tag one good one is enough; when none is good the
// verdict is the first one's. There is no leeway for a clock that is ahead.
func (v *Verifier) Verify(r Request, now time.Time) Verdict {
	inputs, signatures, err := v.headers(r)
	if err != nil {
		return Verdict{}.refused(err)
	}
	tried := 0
	var first Verdict
	for _, name := range inputs.Names() {
		if !hasTag(inputs, name, requestTag) {
			continue
		}
		if tried++; tried > maxSignatures {
			break
		}
		verdict := v.one(r, name, inputs, signatures, now)
		if verdict.OK() {
			return verdict
		}
		if tried == 1 {
			first = verdict
		}
	}
	if tried == 0 {
		return Verdict{}.refused(refuse(WrongTag, "no signature is tagged "+requestTag))
	}
	return first
}

func (v Verdict) refused(err error) Verdict {
	v.Reason, v.Detail = Malformed, err.Error()
	if r, ok := errors.AsType[*refusal](err); ok {
		v.Reason, v.Detail = r.reason, r.detail
	}
	return v
}

// headers reads what does not depend on the label.
func (v *Verifier) headers(r Request) (inputs, signatures *httpsfv.Dictionary, err error) {
	for _, name := range []string{headerInput, headerSignature, headerAgent} {
		if len(r.Header[name]) == 0 {
			return nil, nil, refuse(MissingHeader, "there is no "+name)
		}
	}
	if err := checkTarget(r.Method, r.Authority, r.Path); err != nil {
		return nil, nil, refuse(Malformed, err.Error())
	}
	inputs, signatures, err = signatureHeaders(r.message())
	if err != nil {
		return nil, nil, err
	}
	if v.config.Strict {
		if names := inputs.Names(); len(names) != 1 || names[0] != label || len(signatures.Names()) != 1 {
			return nil, nil, refuse(WrongLabel, "want one signature, labelled "+label)
		}
		if r.Scheme != "" && r.Scheme != "https" {
			return nil, nil, refuse(WrongScheme, "signed requests are sent over https")
		}
	}
	return inputs, signatures, nil
}

// signatureHeaders parses Signature-Input and Signature.
func signatureHeaders(m *message) (inputs, signatures *httpsfv.Dictionary, err error) {
	if inputs, err = httpsfv.UnmarshalDictionary(m.header[headerInput]); err != nil {
		return nil, nil, refuse(Malformed, headerInput+": "+err.Error())
	}
	if signatures, err = httpsfv.UnmarshalDictionary(m.header[headerSignature]); err != nil {
		return nil, nil, refuse(Malformed, headerSignature+": "+err.Error())
	}
	return inputs, signatures, nil
}

func hasTag(inputs *httpsfv.Dictionary, name, tag string) bool {
	m, _ := inputs.Get(name)
	list, ok := m.(httpsfv.InnerList)
	if !ok {
		return false
	}
	got, _ := list.Params.Get("tag")
	return got == tag
}

// one checks the signature called name.
func (v *Verifier) one(r Request, name string, inputs, signatures *httpsfv.Dictionary, now time.Time) Verdict {
	verdict := Verdict{Label: name}
	s, err := readSignature(name, inputs, signatures, r.Header[headerSignature])
	if err != nil {
		return verdict.refused(err)
	}
	verdict.KeyID, verdict.Created, verdict.Expires, verdict.Nonce = s.keyID, time.Unix(s.created, 0), time.Unix(s.expires, 0), s.nonce
	verdict.Covered = s.components
	if verdict.Agent, err = v.covers(s, r.Header[headerAgent]); err != nil {
		return verdict.refused(err)
	}
	if v.config.Agent != "" && verdict.Agent != v.config.Agent {
		return verdict.refused(refuse(AgentMismatch, fmt.Sprintf("%q, the keys are those of %q", verdict.Agent, v.config.Agent)))
	}
	if err := s.checkTimes(now, v.config.MaxLifetime); err != nil {
		return verdict.refused(err)
	}
	if v.config.Strict {
		if err := s.checkOwn(); err != nil {
			return verdict.refused(err)
		}
	}
	k, err := v.key(s.keyID, now)
	if err != nil {
		return verdict.refused(err)
	}
	if verdict.Base, err = s.verify(r.message(), k); err != nil {
		return verdict.refused(err)
	}
	// Last, so that a forged request cannot use up a nonce.
	if v.config.Nonces != nil && s.nonce != "" && !v.config.Nonces.Add(s.keyID, s.nonce, verdict.Expires, now) {
		return verdict.refused(refuse(NonceReused, "the nonce was seen before"))
	}
	return verdict
}

func (v *Verifier) key(id string, now time.Time) (PublicKey, error) {
	k, ok := v.keys[id]
	switch {
	case !ok || len(k.Public) != ed25519.PublicKeySize:
		return PublicKey{}, refuse(KeyUnknown, "no key "+id+" in the directory")
	case !k.Begun(now):
		return PublicKey{}, refuse(KeyNotBegun, "the key begins at "+stamp(k.NotBefore))
	case k.Expired(now):
		return PublicKey{}, refuse(KeyExpired, "the key expired at "+stamp(k.Expires))
	}
	return k, nil
}

// signature is one signature with its parameters, read but not trusted.
type signature struct {
	label            string
	covered          httpsfv.InnerList
	components       []string // serialised
	value            []byte
	created, expires int64 // seconds since 1970
	keyID, alg       string
	nonce            string
}

// readSignature reads the signature called name; raw are the Signature lines.
func readSignature(name string, inputs, signatures *httpsfv.Dictionary, raw []string) (signature, error) {
	s := signature{label: name}
	m, _ := inputs.Get(name)
	list, ok := m.(httpsfv.InnerList)
	if !ok {
		return s, refuse(Malformed, headerInput+" "+name+" is not a list of components")
	}
	if len(list.Items) > maxComponents {
		return s, refuse(Malformed, fmt.Sprintf("%d components, at most %d are read", len(list.Items), maxComponents))
	}
	s.covered = list
	m, ok = signatures.Get(name)
	if !ok {
		return s, refuse(WrongLabel, "there is no Signature "+name)
	}
	item, _ := m.(httpsfv.Item)
	if s.value, ok = item.Value.([]byte); !ok {
		return s, refuse(Malformed, headerSignature+" "+name+" is not bytes")
	}
	// Unused bits of the last character must be zero, so that a signature has one
	// spelling only (RFC 4648 3.5); the parser is lenient here.
	if !strings.Contains(strings.Join(raw, ", "), ":"+base64.StdEncoding.EncodeToString(s.value)+":") {
		return s, refuse(Malformed, headerSignature+" "+name+" is not canonical base64")
	}
	for _, component := range list.Items {
		if _, ok := component.Value.(string); !ok {
			return s, refuse(Malformed, "a component's name is not a string")
		}
		id, err := httpsfv.Marshal(component)
		if err != nil {
			return s, refuse(Malformed, err.Error())
		}
		s.components = append(s.components, id)
	}
	err := s.readParams()
	return s, err
}

func (s *signature) readParams() error {
	for _, p := range []struct {
		name     string
		into     any
		required bool
	}{
		{"created", &s.created, true},
		{"expires", &s.expires, true},
		{"keyid", &s.keyID, true},
		{"alg", &s.alg, false},
		{"nonce", &s.nonce, false},
	} {
		got, ok := s.covered.Params.Get(p.name)
		if !ok {
			if p.required {
				return refuse(MissingParameter, "there is no "+p.name)
			}
			continue
		}
		switch into := p.into.(type) {
		case *int64:
			*into, ok = got.(int64)
		case *string:
			*into, ok = got.(string)
		}
		if !ok {
			return refuse(Malformed, fmt.Sprintf("%s is a %T", p.name, got))
		}
	}
	if _, given := s.covered.Params.Get("alg"); given && s.alg != "ed25519" {
		return refuse(WrongAlgorithm, fmt.Sprintf("alg is %q", s.alg))
	}
	return nil
}

// covers decides whether enough is covered and returns the agent it names.
func (v *Verifier) covers(s signature, agentLines []string) (string, error) {
	if !slices.Contains(s.components, `"@authority"`) && !slices.Contains(s.components, `"@target-uri"`) {
		return "", refuse(Coverage, "neither @authority nor @target-uri is covered")
	}
	if v.config.Strict {
		for _, want := range []string{`"@method"`, `"@authority"`, `"@path"`, `"user-agent"`} {
			if !slices.Contains(s.components, want) {
				return "", refuse(Coverage, want+" is not covered")
			}
		}
	}
	return v.coveredAgent(s, agentLines)
}

// coveredAgent returns the Signature-Agent value that is covered: the whole
// header in its legacy form, else a member. The member keyed to the label comes
// first; draft -00's own vector E.2.1 covers another one, so that only the strict
// profile insists on it.
func (v *Verifier) coveredAgent(s signature, lines []string) (string, error) {
	if strings.HasPrefix(strings.TrimLeft(strings.Join(lines, ", "), " "), `"`) {
		item, err := httpsfv.UnmarshalItem(lines)
		if err != nil {
			return "", refuse(Malformed, headerAgent+": "+err.Error())
		}
		if !slices.Contains(s.components, `"signature-agent"`) {
			return "", refuse(Coverage, `"signature-agent" is not covered`)
		}
		return agentValue(item)
	}
	members, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		return "", refuse(Malformed, headerAgent+": "+err.Error())
	}
	chosen := ""
	for _, item := range s.covered.Items {
		key, ok := item.Params.Get("key")
		if item.Value != "signature-agent" || !ok || len(item.Params.Names()) != 1 {
			continue
		}
		if name, _ := key.(string); name == s.label || (chosen == "" && !v.config.Strict) {
			chosen = name
		}
	}
	if chosen == "" {
		return "", refuse(Coverage, "no member of Signature-Agent is covered for "+s.label)
	}
	m, ok := members.Get(chosen)
	if !ok {
		return "", refuse(Coverage, fmt.Sprintf("Signature-Agent has no member %q", chosen))
	}
	item, ok := m.(httpsfv.Item)
	if !ok {
		return "", refuse(WrongAgent, "the member is a list")
	}
	return agentValue(item)
}

// agentValue reads an https URL. A discovery type other than the default of
// draft -00 names something that is not a directory.
func agentValue(item httpsfv.Item) (string, error) {
	value, ok := item.Value.(string)
	if !ok {
		return "", refuse(WrongAgent, "it is not a string")
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return "", refuse(WrongAgent, fmt.Sprintf("%q is not an https URL", value))
	}
	if kind, ok := item.Params.Get("type"); ok && kind != httpsfv.Token("directory") {
		return "", refuse(WrongAgent, fmt.Sprintf("discovery type %v is not supported", kind))
	}
	return value, nil
}

// checkTimes compares in whole seconds, as the parameters are.
func (s signature) checkTimes(now time.Time, longest time.Duration) error {
	switch at := now.Unix(); {
	case s.created > at:
		return refuse(CreatedFuture, fmt.Sprintf("created %d s ahead of the clock", s.created-at))
	case s.expires <= s.created:
		return refuse(TooLong, "it expires before it begins")
	case s.expires <= at:
		return refuse(Expired, fmt.Sprintf("expired %d s ago", at-s.expires))
	case s.expires-s.created > int64(longest/time.Second):
		return refuse(TooLong, fmt.Sprintf("valid for %d s, at most %s is accepted", s.expires-s.created, longest))
	}
	return nil
}

// checkOwn asks for what the own profile always sends.
func (s signature) checkOwn() error {
	if s.alg == "" {
		return refuse(MissingParameter, "there is no alg")
	}
	nonce, err := base64.StdEncoding.Strict().DecodeString(s.nonce)
	if err != nil || len(nonce) != NonceSize {
		return refuse(NonceMissing, fmt.Sprintf("want %d bytes in base64", NonceSize))
	}
	return nil
}

// verify rebuilds the base over m and checks the signature with k.
func (s signature) verify(m *message, k PublicKey) (base string, err error) {
	base, err = m.signatureBase(s.covered)
	if errors.Is(err, errDuplicate) {
		return "", refuse(Duplicate, err.Error())
	}
	if err != nil {
		return "", refuse(Component, err.Error())
	}
	if !ed25519.Verify(k.Public, []byte(base), s.value) {
		return base, refuse(WrongSignature, "it does not fit the message")
	}
	return base, nil
}
