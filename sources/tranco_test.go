package sources_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentcensus/sources"
)

// trancoSite is a stand-in for Tranco's: it answers the paths it was given and keeps
// what it was asked.
type trancoSite struct {
	*httptest.Server
	answers map[string]http.HandlerFunc

	mu    sync.Mutex
	asked []string // paths
	agent string   // User-Agent of the last request
}

func newTrancoSite(t *testing.T, answers map[string]http.HandlerFunc) *trancoSite {
	t.Helper()
	s := &trancoSite{answers: answers}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *trancoSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.Path)
	s.agent = r.UserAgent()
	s.mu.Unlock()
	if answer, ok := s.answers[r.URL.Path]; ok {
		answer(w, r)
		return
	}
	http.NotFound(w, r)
}

// takeAsked returns the paths asked since the last call.
func (s *trancoSite) takeAsked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// options are for lists of three entries, on 2 December 2026.
func (s *trancoSite) options(cache string) sources.Options {
	return sources.Options{
		BaseURL: s.URL, CacheDir: cache, HTTP: s.Client(), UserAgent: "examplebot/1.0 (+https://bot.example/)",
		WantEntries: 3, Pause: time.Nanosecond,
		Now: func() time.Time { return time.Date(2026, 12, 2, 0, 30, 0, 0, time.UTC) },
	}
}

func body(status int, content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, content)
	}
}

const (
	latest    = "/api/lists/date/latest"
	ready     = `{"list_id":"K2N4V","available":true,"failed":false,"download":"https://elsewhere.example/","created_on":"2026-12-02"}`
	daily     = "/download_daily/K2N4V"
	csvOnly   = "/download/K2N4V/3"
	december0 = "/api/lists/date/2026-12-0"
)

func TestTrancoIsPinnedDownloadedOnceAndCached(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache", "agentcensus")
	s := newTrancoSite(t, map[string]http.HandlerFunc{latest: body(200, ready), daily: body(200, string(zipped(t, "top-1m.csv", ranked)))})

	list, err := sources.Open(t.Context(), "tranco", s.options(cache))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cache, "tranco-K2N4V.csv")
	want := sources.Info{Source: sources.SourceTranco, ListID: "K2N4V", SHA256: sum(ranked), Entries: 3, First: 1, Path: path}
	if diff := cmp.Diff(want, list.Info()); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(rankedSites, collect(t, list)); diff != "" {
		t.Errorf("sites (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{latest, daily}, s.takeAsked()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if s.agent != "examplebot/1.0 (+https://bot.example/)" {
		t.Errorf("User-Agent %q", s.agent)
	}
	wantFiles(t, cache, "tranco-K2N4V.csv", "tranco-K2N4V.csv.sha256")
	line, err := os.ReadFile(path + ".sha256")
	if err != nil || string(line) != sum(ranked)+"  tranco-K2N4V.csv\n" {
		t.Errorf("checksum file %q, %v; want a line for sha256sum -c", line, err)
	}

	// The ID stands for the same list for ever: nobody is asked about it again.
	for _, name := range []string{"tranco:K2N4V", "tranco:k2n4v"} {
		o := s.options(cache)
		o.Limit = 2
		list, err = sources.Open(t.Context(), name, o)
		if err != nil {
			t.Fatal(err)
		}
		want.Entries = 2
		if diff := cmp.Diff(want, list.Info()); diff != "" {
			t.Errorf("%s: info (-want +got):\n%s", name, diff)
		}
	}
	if asked := s.takeAsked(); asked != nil {
		t.Errorf("asked %v for a cached list", asked)
	}
	// The newest list's ID has to be asked for, the list itself not.
	if _, err = sources.Open(t.Context(), "tranco", s.options(cache)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{latest}, s.takeAsked()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestTrancoListThatExistsAsCSVOnly(t *testing.T) {
	s := newTrancoSite(t, map[string]http.HandlerFunc{daily: body(403, ""), csvOnly: body(200, ranked)})
	list, err := sources.Open(t.Context(), "tranco:K2N4V", s.options(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rankedSites, collect(t, list)); diff != "" {
		t.Errorf("sites (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{daily, csvOnly}, s.takeAsked()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestTrancoFallsBackDayByDay(t *testing.T) {
	notYet := map[string]http.HandlerFunc{
		"null":        body(200, "null"),
		"unavailable": body(200, `{"list_id":"K2N4V","available":false,"failed":false}`),
		"failed":      body(200, `{"list_id":"K2N4V","available":true,"failed":true}`),
		"no ID":       body(200, `{"list_id":"","available":true}`),
		"not found":   body(404, ""),
	}
	for name, answer := range notYet {
		t.Run(name, func(t *testing.T) {
			s := newTrancoSite(t, map[string]http.HandlerFunc{
				latest: answer, december0 + "1": answer, "/api/lists/date/2026-11-30": body(200, ready),
				daily: body(200, ranked),
			})
			list, err := sources.Open(t.Context(), "tranco", s.options(t.TempDir()))
			if err != nil {
				t.Fatal(err)
			}
			if list.Info().ListID != "K2N4V" {
				t.Errorf("info %+v", list.Info())
			}
			if diff := cmp.Diff([]string{latest, december0 + "1", "/api/lists/date/2026-11-30", daily}, s.takeAsked()); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTrancoWithoutAnyListOfTheLastDays(t *testing.T) {
	s := newTrancoSite(t, nil)
	_, err := sources.Open(t.Context(), "tranco", s.options(t.TempDir()))
	wantDownloadError(t, err, 0, "no list ready")
	want := []string{latest, december0 + "1", "/api/lists/date/2026-11-30", "/api/lists/date/2026-11-29"}
	if diff := cmp.Diff(want, s.takeAsked()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// What does not say that a day has no list ends it: one request, no retry.
func TestTrancoMetadataAtFault(t *testing.T) {
	tests := map[string]struct {
		answer http.HandlerFunc
		status int
		says   string
	}{
		"403":             {body(403, ""), 403, "refuses"},
		"429":             {body(429, ""), 429, "too often"},
		"500":             {body(500, ""), 500, "answers 500"},
		"502":             {body(502, ""), 502, "not available now"},
		"web page":        {body(200, "<!doctype html><title>Tranco</title>"), 200, "no JSON"},
		"text of a fault": {body(200, "500 Internal Server Error"), 200, "no JSON"},
		"ID with a path":  {body(200, `{"list_id":"../../K2","available":true}`), 200, "for a list ID"},
		"cut short":       {cutShort(`{"list_id":`), 200, "broke off"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newTrancoSite(t, map[string]http.HandlerFunc{latest: test.answer})
			cache := t.TempDir()
			_, err := sources.Open(t.Context(), "tranco", s.options(cache))
			wantDownloadError(t, err, test.status, test.says)
			if diff := cmp.Diff([]string{latest}, s.takeAsked()); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			wantFiles(t, cache)
		})
	}
}

// Nothing but a whole list ever gets its name in the cache.
func TestTrancoDownloadAtFault(t *testing.T) {
	archive := string(zipped(t, "top-1m.csv", ranked))
	tests := map[string]struct {
		answer http.HandlerFunc
		status int
		says   string
	}{
		"404":                {body(404, ""), 404, "no such list"},
		"429":                {body(429, ""), 429, "too often"},
		"502":                {body(502, ""), 502, "not available now"},
		"503":                {body(503, ""), 503, "not available now"},
		"empty":              {body(200, ""), 200, "empty"},
		"null":               {body(200, "null"), 200, "no ranks"},
		"web page":           {body(200, "<html><body>busy</body></html>"), 200, "HTML"},
		"connection cut":     {cutShort(archive[:40]), 200, "broke off"},
		"archive cut":        {body(200, archive[:len(archive)-30]), 200, "damaged or cut short"},
		"one entry less":     {body(200, "1,alpha.example\r\n2,beta.example\r\n"), 200, "2 entries of 3"},
		"one entry more":     {body(200, ranked+"4,delta.example\r\n"), 200, "line 4: more than the 3"},
		"last name cut":      {body(200, strings.TrimSuffix(ranked, "ple\r\n")), 200, "last line is cut"},
		"gap in ranks":       {body(200, "1,alpha.example\r\n2,beta.example\r\n4,gamma.example\r\n"), 200, "line 3: rank 4 follows rank 2"},
		"not from the top":   {body(200, "2,alpha.example\r\n3,beta.example\r\n4,gamma.example\r\n"), 200, "begins at rank 2"},
		"names without rank": {body(200, "alpha.example\nbeta.example\ngamma.example\n"), 200, "no ranks"},
		"too large":          {body(200, strings.Repeat("#", 5000)), 200, "larger than"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newTrancoSite(t, map[string]http.HandlerFunc{daily: test.answer})
			cache := t.TempDir()
			o := s.options(cache)
			o.MaxDownload = 4000
			_, err := sources.Open(t.Context(), "tranco:K2N4V", o)
			wantDownloadError(t, err, test.status, test.says)
			if diff := cmp.Diff([]string{daily}, s.takeAsked()); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			wantFiles(t, cache)
		})
	}
}

func TestTrancoRefusesBothDownloads(t *testing.T) {
	s := newTrancoSite(t, map[string]http.HandlerFunc{daily: body(403, ""), csvOnly: body(403, "")})
	_, err := sources.Open(t.Context(), "tranco:K2N4V", s.options(t.TempDir()))
	wantDownloadError(t, err, 403, csvOnly)
}

func TestTrancoOutOfReach(t *testing.T) {
	s := newTrancoSite(t, nil)
	o := s.options(t.TempDir())
	s.Close()
	_, err := sources.Open(t.Context(), "tranco", o)
	wantDownloadError(t, err, 0, "cannot be reached")
}

func TestTrancoIDIsChecked(t *testing.T) {
	s := newTrancoSite(t, nil)
	for _, name := range []string{"tranco:", "tranco:../x", "tranco:K2 N4", "tranco:" + strings.Repeat("A", 17)} {
		_, err := sources.Open(t.Context(), name, s.options(t.TempDir()))
		wantListError(t, err, name, 0, "list ID")
	}
	if asked := s.takeAsked(); asked != nil {
		t.Errorf("asked %v", asked)
	}
}

func TestADamagedCacheIsRefused(t *testing.T) {
	s := newTrancoSite(t, map[string]http.HandlerFunc{daily: body(200, ranked)})
	cache := t.TempDir()
	if _, err := sources.Open(t.Context(), "tranco:K2N4V", s.options(cache)); err != nil {
		t.Fatal(err)
	}
	s.takeAsked()
	path := filepath.Join(cache, "tranco-K2N4V.csv")
	put(t, path, strings.Replace(ranked, "beta", "zeta", 1))
	_, err := sources.Open(t.Context(), "tranco:K2N4V", s.options(cache))
	wantListError(t, err, path, 0, "checksum differs")

	// What the message advises helps.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := sources.Open(t.Context(), "tranco:K2N4V", s.options(cache)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{daily}, s.takeAsked()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestKilledDownloadsAreSwept(t *testing.T) {
	s := newTrancoSite(t, map[string]http.HandlerFunc{daily: body(200, ranked)})
	cache := t.TempDir()
	o := s.options(cache)
	old, recent := filepath.Join(cache, ".tranco-1.tmp"), filepath.Join(cache, ".tranco-2.tmp")
	unpacked := filepath.Join(cache, ".tmp-tranco-1-2")
	for path, age := range map[string]time.Duration{old: 25 * time.Hour, recent: time.Hour, unpacked: 25 * time.Hour} {
		put(t, path, "half")
		at := o.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sources.Open(t.Context(), "tranco:K2N4V", o); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, cache, ".tranco-2.tmp", "tranco-K2N4V.csv", "tranco-K2N4V.csv.sha256")
}

// cutShort announces more than it sends.
func cutShort(content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(content)+100))
		fmt.Fprint(w, content)
	}
}

func wantDownloadError(t *testing.T, err error, status int, says string) {
	t.Helper()
	var failed *sources.DownloadError
	if !errors.As(err, &failed) {
		t.Fatalf("err %v, want a *DownloadError", err)
	}
	if failed.Status != status || !strings.Contains(failed.Error(), says) {
		t.Errorf("err %q with status %d, want one that says %q with status %d", failed, failed.Status, says, status)
	}
	var bad *sources.ListError
	if errors.As(err, &bad) {
		t.Errorf("err %v passes for a fault of the operator's", err)
	}
}
