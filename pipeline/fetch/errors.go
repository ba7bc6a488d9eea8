package fetch

// Kind says in which way a fetch failed. Those that are outcomes of a site
// have the outcome's word.
type Kind string

// The kinds. The reasons they come with are listed beside them.
const (
	DNSNotFound     Kind = "dns_not_found"    // not_found
	DNSNoAddress    Kind = "dns_no_address"   // no_address
	DNSError        Kind = "dns_error"        // servfail, timeout, refused, malformed
	PrivateAddress  Kind = "private_address"  // private
	ConnectRefused  Kind = "connect_refused"  // refused, unreachable
	Timeout         Kind = "timeout"          // connect, handshake, headers, body
	ConnectionLost  Kind = "connection_lost"  // reset, eof, body_truncated
	TLSCertificate  Kind = "tls_certificate"  // expired, not_yet_valid, wrong_name, unknown_authority, self_signed, other
	TLSHandshake    Kind = "tls_handshake"    // alert, version, cipher, eof, other
	ProtocolError   Kind = "protocol_error"   // malformed, headers_too_large, too_many_1xx, status, content_encoding, content_length, transfer_encoding, upgrade
	RedirectRefused Kind = "redirect_refused" // off_site, not_https, port, user_info, too_many, no_location, bad_location, location_too_long, loop, and what Permit says

	// Refused is an error of Permit that is no *Error, or a Request.URL that
	// breaks the rules for a redirect's target.
	Refused Kind = "refused"
	// Local is a fault of this machine, not of the site: it stops the crawl.
	// Reasons: too_many_files, no_buffers, no_memory, no_ports, no_route,
	// no_roots.
	Local Kind = "local"
	// SigningFailed stops the crawl: nothing goes out unsigned.
	SigningFailed Kind = "signing"
	// Canceled: the caller's context ended first.
	Canceled Kind = "canceled"
)

// Error is why a fetch did not end with an answer.
type Error struct {
	Kind   Kind
	Reason string // a short code, see the kinds
	Err    error  // the cause, nil when the code says it all
}

func (e *Error) Error() string {
	s := string(e.Kind)
	if e.Reason != "" {
		s += " (" + e.Reason + ")"
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// fail is short for a pointer to an Error.
func fail(k Kind, reason string, err error) *Error {
	return &Error{Kind: k, Reason: reason, Err: err}
}
