package signing

import "time"

// Reason is why a signature was refused, in one word for logs and counters.
type Reason string

// The reasons, in the order of the checks.
const (
	Verified         Reason = ""                  // not refused
	MissingHeader    Reason = "missing_header"    // one of the three headers is not there
	Malformed        Reason = "malformed"         // a header or the request cannot be read
	WrongLabel       Reason = "label"             // Signature and Signature-Input do not name the same signature; strict: not one, or not sig1
	WrongTag         Reason = "tag"               // no signature with the tag of the profile
	MissingParameter Reason = "missing_parameter" // created, expires or keyid
	WrongAlgorithm   Reason = "alg"               // not ed25519
	Coverage         Reason = "coverage"          // something that must be covered is not
	WrongScheme      Reason = "scheme"            // strict: not https (draft 6.1)
	WrongAgent       Reason = "agent"             // Signature-Agent is not an https URL
	AgentMismatch    Reason = "agent_mismatch"    // the keys are another agent's
	CreatedFuture    Reason = "created_future"    // dated ahead
	Expired          Reason = "expired"           // past its expires
	TooLong          Reason = "lifetime"          // expires too long after created, or not after it
	NonceMissing     Reason = "nonce_missing"     // strict: no nonce of 64 bytes
	KeyUnknown       Reason = "keyid_unknown"     // not in the directory
	KeyNotBegun      Reason = "key_not_yet_valid" // before the key's nbf
	KeyExpired       Reason = "key_expired"       // after the key's exp
	Duplicate        Reason = "duplicate"         // a component covered twice
	Component        Reason = "component"         // a covered component cannot be rebuilt
	WrongSignature   Reason = "signature"         // it does not fit the base
	NonceReused      Reason = "nonce_reused"      // seen before
	WrongStatus      Reason = "status"            // directory: not 200
	WrongMediaType   Reason = "media_type"        // directory: another Content-Type
	WrongDigest      Reason = "content_digest"    // directory: the body is not the one signed
	WrongDirectory   Reason = "directory"         // directory: not a JWK Set that can be used
)

// Verdict is what came of verifying a request, as far as it was read.
type Verdict struct {
	Reason Reason // [Verified] when the signature is good
	Detail string // more about the reason, for people

	Label, KeyID, Agent string
	Created, Expires    time.Time
	Nonce               string   // as sent
	Covered             []string // component identifiers as serialised
	Base                string   // the signature base, once rebuilt
}

// OK reports whether the request was signed with a key of the directory.
func (v Verdict) OK() bool { return v.Reason == Verified }

// String says it in a line.
func (v Verdict) String() string {
	if v.OK() {
		return "verified: " + v.KeyID
	}
	if v.Detail == "" {
		return string(v.Reason)
	}
	return string(v.Reason) + ": " + v.Detail
}

// refusal is a reason on its way to a verdict.
type refusal struct {
	reason Reason
	detail string
}

func (r *refusal) Error() string { return string(r.reason) + ": " + r.detail }

func refuse(reason Reason, detail string) *refusal { return &refusal{reason, detail} }
