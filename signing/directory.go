package signing

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

const (
	// DirectoryPath is where an origin shows its keys (draft 5.5).
	DirectoryPath = "/.well-known/http-message-signatures-directory"
	// DirectoryType is the directory's media type; verifiers compare it byte for
	// byte, so that it takes no parameter.
	DirectoryType = "application/http-message-signatures-directory+json"
	// DirectoryLifetime is how long a directory's signatures are valid.
	DirectoryLifetime = 7 * 24 * time.Hour
	// DirectoryMaxAge is how long a cache may keep a directory. A key taken out
	// may be believed that much longer.
	DirectoryMaxAge = time.Hour

	directoryTag = "http-message-signatures-directory"
)

// Directory returns the JWK Set of the keys that have not expired at now, in the
// order of the set, and the headers of its response: signed by each of them for
// authority, valid [DirectoryLifetime], to be cached [DirectoryMaxAge]. The body
// depends on the keys alone. When every key has expired it returns a [KeyError].
//
// authority is the configured one, never the Host header of a request: else
// anyone could obtain a signature that binds the keys to another name.
func Directory(keys KeySet, authority string, now time.Time) (body []byte, header http.Header, err error) {
	return signDirectory(keys.Listed(now), authority, now, now.Add(DirectoryLifetime))
}

func signDirectory(keys []Key, authority string, created, expires time.Time) ([]byte, http.Header, error) {
	if len(keys) == 0 {
		return nil, nil, &KeyError{Fault: FaultNone, What: "there is none to publish: add a key that has not expired"}
	}
	if err := checkTarget(http.MethodGet, authority, DirectoryPath); err != nil {
		return nil, nil, fmt.Errorf("making the key directory: %w", err)
	}
	var set jwkSet
	for _, k := range keys {
		set.Keys = append(set.Keys, k.JWK())
	}
	body, err := json.Marshal(set)
	if err != nil {
		return nil, nil, fmt.Errorf("making the key directory: %w", err)
	}
	digest := contentDigest(body)
	inputs, signatures := make([]string, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		if k.private == nil {
			return nil, nil, fmt.Errorf("making the key directory: %s cannot sign", k.ID)
		}
		params := fmt.Sprintf(`("@authority";req "content-digest");created=%d;expires=%d;keyid="%s";alg="ed25519";tag="%s"`,
			created.Unix(), expires.Unix(), k.ID, directoryTag)
		base := fmt.Sprintf("\"@authority\";req: %s\n\"content-digest\": %s\n\"@signature-params\": %s",
			normalAuthority("https", authority), digest, params)
		name := "binding" + strconv.Itoa(i)
		inputs[i] = name + "=" + params
		signatures[i] = name + "=:" + base64.StdEncoding.EncodeToString(k.private.sign([]byte(base))) + ":"
	}
	sum := sha256.Sum256(body)
	h := make(http.Header)
	h.Set("Content-Type", DirectoryType)
	// no-transform: a compressing cache would break the digest, which is over the
	// coded content.
	h.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(DirectoryMaxAge/time.Second))+", no-transform")
	h.Set("Content-Digest", digest)
	h.Set(headerInput, strings.Join(inputs, ", "))
	h.Set(headerSignature, strings.Join(signatures, ", "))
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Etag", `"`+hex.EncodeToString(sum[:16])+`"`)
	h.Set("Last-Modified", created.UTC().Format(http.TimeFormat))
	return body, h, nil
}

// contentDigest is the Content-Digest of body (RFC 9530 2).
func contentDigest(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// DirectoryResponse is a directory as it was fetched.
type DirectoryResponse struct {
	Authority string // of the request, https
	Status    int
	Header    http.Header
	Body      []byte // as on the wire
}

// DirectoryError is why a directory is not used.
type DirectoryError struct {
	Reason Reason
	Detail string
}

// Error says it in a line.
func (e *DirectoryError) Error() string {
	return "key directory: " + string(e.Reason) + ": " + e.Detail
}

// VerifyDirectory returns the keys of a directory that is wholly in order at now:
// status 200, the exact media type, and for every key that has not expired a
// good signature over "@authority";req and content-digest. It is stricter than
// the draft, which recommends the signatures only. Errors are [DirectoryError].
func VerifyDirectory(r DirectoryResponse, now time.Time) ([]PublicKey, error) {
	if r.Status != http.StatusOK {
		return nil, &DirectoryError{WrongStatus, fmt.Sprintf("status %d where 200 is wanted", r.Status)}
	}
	if got := r.Header.Values("Content-Type"); !slices.Equal(got, []string{DirectoryType}) {
		return nil, &DirectoryError{WrongMediaType, fmt.Sprintf("Content-Type %q", got)}
	}
	keys, err := ParseDirectory(r.Body)
	if err != nil {
		return nil, &DirectoryError{WrongDirectory, err.Error()}
	}
	if len(keys) == 0 {
		return nil, &DirectoryError{WrongDirectory, "there is no key in it"}
	}
	if err := checkDigest(r.Header, r.Body); err != nil {
		return nil, &DirectoryError{WrongDigest, err.Error()}
	}
	bound, err := r.bound(keys, now)
	if err != nil {
		v := Verdict{}.refused(err)
		return nil, &DirectoryError{v.Reason, v.Detail}
	}
	for _, k := range keys {
		if !bound[k.ID] && !k.Expired(now) {
			return nil, &DirectoryError{WrongSignature, "no good signature by " + k.ID}
		}
	}
	return keys, nil
}

// bound returns the IDs of the keys whose signature over r is good. A bad one
// spoils the directory.
func (r DirectoryResponse) bound(keys []PublicKey, now time.Time) (map[string]bool, error) {
	m := &message{status: r.Status, header: r.Header, request: Request{
		Method: http.MethodGet, Authority: r.Authority, Path: DirectoryPath, Header: http.Header{},
	}.message()}
	inputs, signatures, err := signatureHeaders(m)
	if err != nil {
		return nil, err
	}
	bound := make(map[string]bool, len(keys))
	for _, name := range inputs.Names() {
		if !hasTag(inputs, name, directoryTag) {
			continue
		}
		s, err := readSignature(name, inputs, signatures, r.Header[headerSignature])
		if err != nil {
			return nil, err
		}
		for _, want := range []string{`"@authority";req`, `"content-digest"`} {
			if !slices.Contains(s.components, want) {
				return nil, refuse(Coverage, want+" is not covered")
			}
		}
		if err := s.checkTimes(now, math.MaxInt64); err != nil {
			return nil, err
		}
		i := slices.IndexFunc(keys, func(k PublicKey) bool { return k.ID == s.keyID })
		if i < 0 {
			return nil, refuse(KeyUnknown, s.keyID+" is not in the directory it signed")
		}
		if bound[s.keyID] { // one signature a key, which bounds the work
			return nil, refuse(Duplicate, s.keyID+" signed twice")
		}
		if _, err := s.verify(m, keys[i]); err != nil {
			return nil, err
		}
		bound[s.keyID] = true
	}
	return bound, nil
}

// checkDigest compares the body with the sha-256 member of Content-Digest.
func checkDigest(h http.Header, body []byte) error {
	d, err := httpsfv.UnmarshalDictionary(h["Content-Digest"])
	if err != nil {
		return err
	}
	m, _ := d.Get("sha-256")
	item, _ := m.(httpsfv.Item)
	got, ok := item.Value.([]byte)
	if !ok {
		return errors.New("there is no sha-256 digest")
	}
	if sum := sha256.Sum256(body); !bytes.Equal(got, sum[:]) {
		return errors.New("the body is not the one that was signed")
	}
	return nil
}
