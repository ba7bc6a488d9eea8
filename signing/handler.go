package signing

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Handler answers [DirectoryPath] for one authority. It signs in memory, again
// when half of a signature's life is over, when a key expires, and when the clock
// went back, so that a signature outlives every cached copy. It ends no TLS: a
// reverse proxy does, and must pass the Host header on and not compress.
type Handler struct {
	keys      KeySet
	authority string
	now       func() time.Time

	mu     sync.Mutex // guards signed
	signed signedDirectory
}

// signedDirectory is a response that is good from created until refresh.
type signedDirectory struct {
	body             []byte
	header           http.Header
	created, refresh time.Time
}

// NewHandler returns a handler for the keys' directory at authority: a host, with
// a port when it is not 443. It fails when there is no key to publish.
func NewHandler(keys KeySet, authority string, now func() time.Time) (*Handler, error) {
	if now == nil {
		return nil, errors.New("serving the key directory: it needs a clock")
	}
	h := &Handler{keys: keys, authority: normalAuthority("https", authority), now: now}
	if _, err := h.current(); err != nil {
		return nil, fmt.Errorf("serving the key directory: %w", err)
	}
	return h, nil
}

// current returns the response to give now.
func (h *Handler) current() (signedDirectory, error) {
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.signed.body != nil && !now.Before(h.signed.created) && now.Before(h.signed.refresh) {
		return h.signed, nil
	}
	body, header, err := Directory(h.keys, h.authority, now)
	if err != nil {
		h.signed = signedDirectory{}
		return signedDirectory{}, err
	}
	refresh := now.Add(DirectoryLifetime / 2)
	for _, k := range h.keys.Listed(now) {
		if !k.Expires.IsZero() && k.Expires.Before(refresh) {
			refresh = k.Expires
		}
	}
	h.signed = signedDirectory{body, header, now, refresh}
	return h.signed, nil
}

// ServeHTTP answers GET and HEAD of the directory at the configured authority:
// 421 at any other, 404 when every key has expired (a directory without keys
// would say that the bot has none).
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case normalAuthority("https", r.Host) != h.authority:
		refuseWith(w, http.StatusMisdirectedRequest)
		return
	case r.URL.Path != DirectoryPath:
		refuseWith(w, http.StatusNotFound)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		refuseWith(w, http.StatusMethodNotAllowed)
		return
	}
	signed, err := h.current()
	if err != nil {
		refuseWith(w, http.StatusNotFound)
		return
	}
	// A 304 carries them all too: a cache then holds the newest signatures.
	for name, values := range signed.header {
		w.Header()[name] = append([]string(nil), values...)
	}
	if fresh(r.Header, signed.header) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(signed.body)))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodGet {
		// A failed write is the client's own loss; there is nobody to tell.
		_, _ = w.Write(signed.body)
	}
}

// refuseWith answers with a status that no cache keeps.
func refuseWith(w http.ResponseWriter, status int) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, http.StatusText(status), status)
}

// fresh evaluates the request's conditions (RFC 9110 13.2.2): If-None-Match, and
// only without one If-Modified-Since.
func fresh(request, response http.Header) bool {
	if tags := request.Values("If-None-Match"); len(tags) != 0 {
		for tag := range strings.SplitSeq(strings.Join(tags, ","), ",") {
			tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
			if tag == "*" || tag == response.Get("Etag") {
				return true
			}
		}
		return false
	}
	since, err := http.ParseTime(request.Get("If-Modified-Since"))
	if err != nil {
		return false
	}
	modified, err := http.ParseTime(response.Get("Last-Modified"))
	return err == nil && !modified.After(since)
}
