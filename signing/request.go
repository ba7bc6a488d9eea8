package signing

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Request is what a signature is about, as it stands on the wire.
type Request struct {
	Method string // as sent: methods have case
	Scheme string // "https" when ""
	// Authority is the Host header: a host, with a port when it is not the
	// scheme's. It is lower-cased and loses a default port here (RFC 9421 2.2.3).
	Authority string
	// Path is the escaped path as sent and, when there is one, "?" and the query.
	// It begins with a slash; "" stands for "/".
	Path   string
	Header http.Header
}

// RequestFromURL returns the request a client makes for rawURL: an absolute http
// or https URL. Escapes keep the form they have. A Host header that names
// another authority than the URL is refused.
func RequestFromURL(method, rawURL string, h http.Header) (Request, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return Request{}, fmt.Errorf("reading a request: %w", err)
	}
	if (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" {
		return Request{}, fmt.Errorf("reading a request: %q is not an absolute http or https URL", rawURL)
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if u.RawQuery != "" || u.ForceQuery {
		path += "?" + u.RawQuery
	}
	r := Request{Method: method, Scheme: u.Scheme, Authority: u.Host, Path: path, Header: h}
	if host := h.Get("Host"); host != "" && normalAuthority(u.Scheme, host) != normalAuthority(u.Scheme, u.Host) {
		return Request{}, fmt.Errorf("reading a request: Host is %q, the URL says %q", host, u.Host)
	}
	return r, nil
}

// ServerRequest returns the request a server received. Behind a proxy that ends
// TLS the scheme is the proxy's, which the caller must then set.
func ServerRequest(r *http.Request) Request {
	scheme := "https"
	if r.TLS == nil {
		scheme = "http"
	}
	path := r.RequestURI
	if !strings.HasPrefix(path, "/") { // absolute form (RFC 9112 3.2.2)
		path = r.URL.RequestURI()
	}
	return Request{Method: r.Method, Scheme: scheme, Authority: r.Host, Path: path, Header: r.Header}
}

// normalAuthority lower-cases and drops the scheme's default port, or an empty
// one. It does not allocate when there is nothing to do.
func normalAuthority(scheme, authority string) string {
	authority = strings.ToLower(authority)
	port := ":443"
	if scheme == "http" {
		port = ":80"
	}
	if host, ok := strings.CutSuffix(authority, port); ok {
		return host
	}
	return strings.TrimSuffix(authority, ":")
}

// pathOnly cuts the query off; an empty path is "/" (RFC 9421 2.2.6).
func pathOnly(path string) string {
	path, _, _ = strings.Cut(path, "?")
	if path == "" {
		return "/"
	}
	return path
}

// checkTarget refuses a request that could not be one on the wire, or whose
// parts would put a line of their own into the signature base.
func checkTarget(method, authority, path string) error {
	switch {
	case method == "" || strings.ContainsAny(method, "\"(),/:;<=>?@[\\]{}") || !visible(method):
		return fmt.Errorf("method %q is not a token", method)
	case authority == "" || strings.ContainsAny(authority, "/?#@\"\\,") || !visible(authority):
		return fmt.Errorf("authority %q is not a host", authority)
	case (path != "" && path[0] != '/') || !visible(path):
		return fmt.Errorf("path %q is not an escaped path", path)
	}
	return nil
}
