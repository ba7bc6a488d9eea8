package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"reflect"
	"syscall"
	"time"

	"agentcensus/pipeline/resolve"
)

// Alert descriptions (RFC 8446 section 6.2).
const (
	alertHandshakeFailure     = 40
	alertProtocolVersion      = 70
	alertInsufficientSecurity = 71
)

// remoteAlert returns the alert the peer sent, when err is one. crypto/tls
// has no exported type for it but the operation of a net.OpError; the number
// is read from its value.
func remoteAlert(err error) (desc byte, ok bool) {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return 0, false
	}
	if v := reflect.ValueOf(op.Err); v.IsValid() && v.Kind() == reflect.Uint8 {
		return byte(v.Uint()), true
	}
	return 0, true
}

func alertReason(desc byte) string {
	switch desc {
	case alertProtocolVersion:
		return "version"
	case alertHandshakeFailure, alertInsufficientSecurity:
		return "cipher" // no common parameters
	}
	return "alert"
}

// handshakeError says why a handshake failed.
func (cn *conn) handshakeError(err error) *Error {
	var cert *tls.CertificateVerificationError
	if errors.As(err, &cert) {
		return certificateError(cert)
	}
	if desc, ok := remoteAlert(err); ok {
		return fail(TLSHandshake, alertReason(desc), err)
	}
	switch {
	case isTimeout(err):
		return fail(Timeout, "handshake", err)
	case isClosed(err):
		return fail(TLSHandshake, "eof", err)
	}
	// We gave up: the alert sent says why, before any encryption.
	switch r := alertReason(cn.wire.alert); r {
	case "version", "cipher":
		return fail(TLSHandshake, r, err)
	}
	return fail(TLSHandshake, "other", err)
}

// certificateError says what is wrong with a certificate.
func certificateError(err *tls.CertificateVerificationError) *Error {
	var (
		invalid  x509.CertificateInvalidError
		hostname x509.HostnameError
		unknown  x509.UnknownAuthorityError
		roots    x509.SystemRootsError
	)
	reason := "other"
	switch {
	case errors.As(err, &roots):
		return fail(Local, "no_roots", err)
	case errors.As(err, &hostname):
		reason = "wrong_name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		// One code for both ends of the validity.
		reason = "expired"
		if c := invalid.Cert; c != nil && c.NotBefore.After(time.Now()) {
			reason = "not_yet_valid"
		}
	case errors.As(err, &unknown):
		reason = "unknown_authority"
		if cs := err.UnverifiedCertificates; len(cs) > 0 && bytes.Equal(cs[0].RawIssuer, cs[0].RawSubject) {
			reason = "self_signed"
		}
	}
	return fail(TLSCertificate, reason, err)
}

// ioError says how a connection failed after its handshake. phase is the
// reason of a timeout.
func (cn *conn) ioError(err error, phase string) *Error {
	body := phase == "body"
	var record tls.RecordHeaderError
	var op *net.OpError
	desc, alert := remoteAlert(err)
	switch {
	case isTimeout(err):
		return fail(Timeout, phase, err)
	case body && (alert || isClosed(err)):
		return fail(ConnectionLost, "body_truncated", err)
	case alert && !cn.used:
		// TLS 1.3 lets a client write before the server has judged it.
		return fail(TLSHandshake, alertReason(desc), err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fail(ConnectionLost, "eof", err)
	case alert, isClosed(err):
		return fail(ConnectionLost, "reset", err)
	case errors.As(err, &record), errors.As(err, &op) && op.Op == "local error":
		return fail(ProtocolError, "malformed", err) // broken TLS records
	case body:
		return fail(ConnectionLost, "body_truncated", err)
	}
	return fail(ConnectionLost, "reset", err)
}

// isClosed says whether err means that the peer is gone.
func isClosed(err error) bool {
	for _, gone := range []error{
		io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed,
		syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED,
	} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}

// isFraming says whether err is about the bytes of a chunked body rather
// than the connection: net/http has no types for these.
func isFraming(err error) bool {
	var ne net.Error
	return !isTimeout(err) && !isClosed(err) && !errors.As(err, &ne)
}

// lookupError says why a host has no address.
func lookupError(ctx context.Context, err error) *Error {
	if ctx.Err() != nil {
		return fail(Canceled, "", err)
	}
	var own *resolve.Error
	if errors.As(err, &own) {
		switch own.Kind {
		case resolve.NotFound:
			return fail(DNSNotFound, own.Reason, err)
		case resolve.NoAddress:
			return fail(DNSNoAddress, own.Reason, err)
		case resolve.Local:
			return fail(Local, own.Reason, err)
		case resolve.Canceled:
			return fail(Canceled, "", err)
		}
		return fail(DNSError, own.Reason, err)
	}
	var std *net.DNSError
	if errors.As(err, &std) {
		switch {
		case std.IsNotFound:
			return fail(DNSNotFound, "not_found", err)
		case std.IsTimeout:
			return fail(DNSError, "timeout", err)
		}
	}
	return fail(DNSError, "servfail", err)
}
