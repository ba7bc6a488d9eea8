package sources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	trancoURL     = "https://tranco-list.eu"
	trancoEntries = 1_000_000
	trancoPause   = 2500 * time.Millisecond
	maxDownload   = 200_000_000 // bytes; a list is 9 MB as ZIP, 23 MB as CSV
	maxMetadata   = 1 << 20     // bytes
	metadataTime  = 30 * time.Second
	downloadTime  = 10 * time.Minute
	daysBack      = 3 // today's list may not be made yet, nor yesterday's
)

// DownloadError says why a list could not be had from its site. It is no fault
// of the command line: the same command may succeed later.
type DownloadError struct {
	URL    string
	Status int    // of the answer; 0 when there was none
	Msg    string // what is wrong and what to do
	Err    error  // the cause, nil if there is none beyond Msg
}

func (e *DownloadError) Error() string {
	s := e.URL + ": " + e.Msg
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *DownloadError) Unwrap() error { return e.Err }

// tranco talks to Tranco's site: at most one metadata request a day looked at,
// one download, and no second try of either.
type tranco struct {
	o     Options // with the defaults filled in
	cache string  // directory
}

// openTranco opens the list called tranco or tranco:ID.
func openTranco(ctx context.Context, name string, o Options) (*List, error) {
	t, err := newTranco(o)
	if err != nil {
		return nil, err
	}
	_, id, pinned := strings.Cut(name, ":")
	id = strings.ToUpper(id)
	if !pinned {
		if id, err = t.newest(ctx); err != nil {
			return nil, err
		}
	}
	if !isListID(id) {
		return nil, &ListError{File: name, Msg: "is not a list ID of Tranco; write it as tranco:XXXXX, as its page tranco-list.eu/list/XXXXX has it"}
	}
	if list, err := t.cached(ctx, id); list != nil || err != nil {
		return list, err
	}
	if err := t.download(ctx, id); err != nil {
		return nil, err
	}
	list, err := t.cached(ctx, id)
	if err == nil && list == nil {
		err = fmt.Errorf("list %s vanished from the cache %s", id, t.cache)
	}
	return list, err
}

func newTranco(o Options) (*tranco, error) {
	if o.BaseURL == "" {
		o.BaseURL = trancoURL
	}
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	if o.HTTP == nil {
		o.HTTP = http.DefaultClient
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Pause == 0 {
		o.Pause = trancoPause
	}
	if o.WantEntries == 0 {
		o.WantEntries = trancoEntries
	}
	if o.MaxDownload == 0 {
		o.MaxDownload = maxDownload
	}
	t := &tranco{o: o, cache: o.CacheDir}
	if t.cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("find a place for downloaded lists: %w", err)
		}
		t.cache = filepath.Join(user, "agentcensus")
	}
	return t, nil
}

// isListID reports whether id looks like one of Tranco's; it becomes part of a
// URL and of a file name.
func isListID(id string) bool {
	for i := range len(id) {
		if c := id[i]; !('A' <= c && c <= 'Z' || '0' <= c && c <= '9') {
			return false
		}
	}
	return 1 <= len(id) && len(id) <= 16
}

// newest asks for the ID of the newest list there is. Lists are published about
// 0:00 UTC, so that for a while a day's list may be missing; then the days
// before are asked for, down to the third. Any other failure ends it.
func (t *tranco) newest(ctx context.Context) (string, error) {
	today := t.o.Now().UTC()
	for back := range daysBack + 1 {
		day := "latest"
		if back > 0 {
			day = today.AddDate(0, 0, -back).Format(time.DateOnly)
			if err := sleep(ctx, t.o.Pause); err != nil {
				return "", fmt.Errorf("ask for Tranco's list of %s: %w", day, err)
			}
		}
		id, err := t.listOf(ctx, day)
		if id != "" || err != nil {
			return id, err
		}
	}
	return "", &DownloadError{
		URL: t.o.BaseURL,
		Msg: fmt.Sprintf("has no list ready for the last %d days; try again later, or name one as tranco:ID", daysBack),
	}
}

// listOf asks for the ID of a day's list; "" when the site says that there is
// none, or none yet.
func (t *tranco) listOf(ctx context.Context, day string) (id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, metadataTime)
	defer cancel()
	url := t.o.BaseURL + "/api/lists/date/" + day
	resp, err := t.get(ctx, url)
	var failed *DownloadError
	if errors.As(err, &failed) && failed.Status == http.StatusNotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata))
	if err != nil {
		return "", &DownloadError{URL: url, Status: resp.StatusCode, Msg: "the answer broke off; try again later", Err: err}
	}
	// A null, which the site does answer, leaves the zero value: no list.
	var meta struct {
		ListID    string `json:"list_id"`
		Available bool   `json:"available"`
		Failed    bool   `json:"failed"`
	}
	if err := json.Unmarshal(body, &meta); err != nil {
		return "", &DownloadError{URL: url, Status: resp.StatusCode, Msg: "the answer is no JSON; try again later, or name a list as tranco:ID", Err: err}
	}
	if !meta.Available || meta.Failed || meta.ListID == "" {
		return "", nil
	}
	if !isListID(meta.ListID) {
		return "", &DownloadError{URL: url, Status: resp.StatusCode, Msg: fmt.Sprintf("answers %q for a list ID; name a list as tranco:ID", meta.ListID)}
	}
	return meta.ListID, nil
}

// get makes one request; an answer other than 200 is a *DownloadError.
func (t *tranco) get(ctx context.Context, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("ask Tranco: %w", err)
	}
	if t.o.UserAgent != "" {
		req.Header.Set("User-Agent", t.o.UserAgent)
	}
	resp, err := t.o.HTTP.Do(req)
	if err != nil {
		var outer *neturl.Error // it names the URL once more
		if errors.As(err, &outer) {
			err = outer.Err
		}
		return nil, &DownloadError{URL: url, Msg: "cannot be reached; is the network there?", Err: err}
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	e := &DownloadError{URL: url, Status: resp.StatusCode, Err: resp.Body.Close()}
	switch resp.StatusCode {
	case http.StatusForbidden:
		e.Msg = "refuses the request (403); name another list as tranco:ID, or give a file"
	case http.StatusNotFound:
		e.Msg = "knows no such list (404); is the ID right?"
	case http.StatusTooManyRequests:
		e.Msg = "was asked too often (429); try again in an hour"
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		e.Msg = fmt.Sprintf("is not available now (%d); try again later", resp.StatusCode)
	default:
		e.Msg = fmt.Sprintf("answers %s; try again later, or give a file", resp.Status)
	}
	return nil, e
}

// download fetches the list with this ID, sees that it is whole, and only then
// puts it into the cache.
func (t *tranco) download(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, downloadTime)
	defer cancel()
	if err := os.MkdirAll(t.cache, 0o755); err != nil {
		return fmt.Errorf("make the cache for lists: %w", err)
	}
	if err := t.sweep(); err != nil {
		return err
	}
	url := t.o.BaseURL + "/download_daily/" + id
	resp, err := t.get(ctx, url)
	var failed *DownloadError
	if errors.As(err, &failed) && failed.Status == http.StatusForbidden {
		// A list that is not a daily one exists as CSV only.
		url = fmt.Sprintf("%s/download/%s/%d", t.o.BaseURL, id, t.o.WantEntries)
		resp, err = t.get(ctx, url)
	}
	if err != nil {
		return err
	}
	raw, err := t.spool(resp, url)
	if err != nil {
		return errors.Join(err, resp.Body.Close())
	}
	return errors.Join(t.keep(ctx, id, url, raw), os.Remove(raw), resp.Body.Close())
}

// spool writes the body of an answer to a temporary file in the cache.
func (t *tranco) spool(resp *http.Response, url string) (path string, err error) {
	f, err := os.CreateTemp(t.cache, ".tranco-*.tmp")
	if err != nil {
		return "", fmt.Errorf("spool %s: %w", url, err)
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	body := &noteReader{r: resp.Body}
	n, err := io.Copy(f, io.LimitReader(body, t.o.MaxDownload+1))
	switch {
	case body.err != nil:
		return "", &DownloadError{URL: url, Status: resp.StatusCode, Msg: fmt.Sprintf("the download broke off after %d bytes; try again later", n), Err: body.err}
	case err != nil:
		return "", fmt.Errorf("spool %s: %w", url, err)
	case n > t.o.MaxDownload:
		return "", &DownloadError{URL: url, Status: resp.StatusCode, Msg: fmt.Sprintf("is larger than %d bytes, so it is no list of Tranco", t.o.MaxDownload)}
	}
	return f.Name(), nil
}

// noteReader notes a failure to read, to tell it from a failure to write.
type noteReader struct {
	r   io.Reader
	err error // nil or other than io.EOF
}

func (n *noteReader) Read(p []byte) (int, error) {
	k, err := n.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return k, err
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
