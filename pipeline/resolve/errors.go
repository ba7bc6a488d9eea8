package resolve

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
)

// Kind says in which way a look-up failed.
type Kind string

// The kinds, with the reasons they come with.
const (
	NotFound  Kind = "not_found"  // NXDOMAIN: not_found
	NoAddress Kind = "no_address" // NODATA for every type asked: no_address
	Failed    Kind = "failed"     // servfail, timeout, refused, malformed
	Local     Kind = "local"      // a fault on our side: too_many_files, no_buffers, no_memory, no_ports, no_route, resolver_gone
	Canceled  Kind = "canceled"   // the caller's context ended first, or the Resolver was closed
)

// Error is why a look-up gave no address.
type Error struct {
	Kind   Kind
	Reason string
	Host   string
	Err    error // the cause, nil when the code says it all
}

func (e *Error) Error() string {
	s := "looking up " + e.Host + ": " + string(e.Kind)
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

// errMalformed is a message that is an answer to us and yet makes no sense.
var errMalformed = errors.New("malformed answer")

// exchangeError says why a server gave no answer.
func exchangeError(ctx context.Context, err error) *Error {
	e := &Error{Kind: Failed, Reason: "timeout", Err: err}
	var ne net.Error
	switch {
	case ctx.Err() != nil:
		return &Error{Kind: Canceled, Err: ctx.Err()}
	case errors.Is(err, net.ErrClosed):
		e.Kind, e.Reason = Canceled, ""
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		e.Kind, e.Reason = Local, "too_many_files"
	case errors.Is(err, syscall.ENOBUFS):
		e.Kind, e.Reason = Local, "no_buffers"
	case errors.Is(err, syscall.ENOMEM):
		e.Kind, e.Reason = Local, "no_memory"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		e.Kind, e.Reason = Local, "no_ports"
	case errors.Is(err, syscall.ENETUNREACH):
		e.Kind, e.Reason = Local, "no_route" // the resolver is the operator's own
	case nobodyThere(err):
		e.Kind, e.Reason = Local, resolverGone // as above
	case errors.Is(err, errMalformed):
		e.Reason = "malformed"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &ne) && ne.Timeout():
	default:
		e.Reason = "refused" // the TCP connection was not served
	}
	return e
}

// resolverGone is the reason when no server is there to be asked.
const resolverGone = "resolver_gone"

// nobodyThere says whether the system has learned that nobody listens where a
// datagram was sent. Over TCP that says only that a server does not serve it.
func nobodyThere(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Net == "udp" && (errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH))
}
