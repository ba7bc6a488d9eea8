package main

import (
	"bufio"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"agentcensus/signing"
)

const testAuthority = "bot.example"

// noon is the time in these tests.
var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func at(instant time.Time) func() time.Time { return func() time.Time { return instant } }

// botConfiguration is a whole configuration with a key that signs and one
// that is announced.
func botConfiguration(t testing.TB) *config {
	t.Helper()
	dir := t.TempDir()
	var keys []string
	for _, name := range []string{"current.pem", "next.pem"} {
		file := filepath.Join(dir, name)
		if status := run(t.Context(), []string{"keys", "new", "--out", file}, streams{nil, io.Discard, os.Stderr}); status != 0 {
			t.Fatalf("keys new: exit status %d", status)
		}
		keys = append(keys, file)
	}
	c := &config{
		Bot: botConfig{
			Name: "SampleBot", InfoURL: "https://bot.example/bot", Operator: "The Sample Survey",
			Contact: "https://survey.example/contact", Schedule: "on the first of each month, and on Mondays",
		},
		Signing: signingConfig{Keys: []keyConfig{
			{File: keys[0], Expires: moment{noon.AddDate(0, 2, 0)}},
			{File: keys[1], NotBefore: moment{noon.AddDate(0, 1, 0)}},
		}},
	}
	c.fill()
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	return c
}

// served is a server of the configuration's bot, at its address.
func served(t *testing.T, c *config, now func() time.Time) (address string) {
	t.Helper()
	h, err := newBotServer(c, now)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, ln, h, log.New(io.Discard, "", 0)) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return ln.Addr().String()
}

// ask makes one request as a reverse proxy passes it on.
func ask(t *testing.T, method, address, host, path string, header http.Header) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	for name, values := range header {
		r.Header[name] = values
	}
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return response, body
}

func verifyDirectory(t *testing.T, response *http.Response, body []byte, now time.Time) []signing.PublicKey {
	t.Helper()
	keys, err := signing.VerifyDirectory(signing.DirectoryResponse{
		Authority: testAuthority, Status: response.StatusCode, Header: response.Header, Body: body,
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestTheServedDirectoryVerifies(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("server", func(t *testing.T) {
		c := botConfiguration(t)
		for i := range c.Signing.Keys { // the crawl's signer has the real clock
			c.Signing.Keys[i].NotBefore, c.Signing.Keys[i].Expires = moment{}, moment{}
		}
		address := served(t, c, at(noon))
		response, body := ask(t, "GET", address, testAuthority, signing.DirectoryPath, nil)
		published := verifyDirectory(t, response, body, noon)
		set, err := c.keySet()
		if err != nil {
			t.Fatal(err)
		}
		if len(published) != 2 || published[0].ID != set.Keys()[0].ID || published[1].ID != set.Keys()[1].ID {
			t.Errorf("published %v, configured %v", published, set.Keys())
		}
		if strings.Contains(string(body), `"d"`) {
			t.Error("a private key is published")
		}

		// What the crawl signs is good by what is served.
		id, err := identify(c)
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{"User-Agent": {id.userAgent}}
		if err := id.signer.Sign(h, "GET", "site.example", "/robots.txt"); err != nil {
			t.Fatal(err)
		}
		verdict := signing.NewVerifier(signing.VerifierConfig{Keys: published, Agent: c.Signing.Agent, Strict: true}).
			Verify(signing.Request{Method: "GET", Authority: "site.example", Path: "/robots.txt", Header: h}, time.Now())
		if !verdict.OK() {
			t.Errorf("the crawl's signature: %v", verdict)
		}
	})
}

func TestTheDirectoryIsCacheable(t *testing.T) {
	address := served(t, botConfiguration(t), at(noon))
	whole, body := ask(t, "GET", address, testAuthority, signing.DirectoryPath, nil)
	for name, tc := range map[string]struct {
		method string
		header http.Header
		status int
		empty  bool
	}{
		"its own tag":       {"GET", http.Header{"If-None-Match": {whole.Header.Get("Etag")}}, 304, true},
		"another tag":       {"GET", http.Header{"If-None-Match": {`"other"`}}, 200, false},
		"its own time":      {"GET", http.Header{"If-Modified-Since": {whole.Header.Get("Last-Modified")}}, 304, true},
		"an earlier time":   {"GET", http.Header{"If-Modified-Since": {noon.Add(-time.Hour).Format(http.TimeFormat)}}, 200, false},
		"HEAD":              {"HEAD", nil, 200, true},
		"POST":              {"POST", nil, 405, false},
		"asking to zip it":  {"GET", http.Header{"Accept-Encoding": {"gzip"}}, 200, false},
		"without any extra": {"GET", nil, 200, false},
	} {
		t.Run(name, func(t *testing.T) {
			response, got := ask(t, tc.method, address, testAuthority, signing.DirectoryPath, tc.header)
			if response.StatusCode != tc.status || (len(got) == 0) != tc.empty {
				t.Errorf("status %d with %d bytes, want %d", response.StatusCode, len(got), tc.status)
			}
			if response.StatusCode == 200 && !tc.empty && string(got) != string(body) {
				t.Errorf("body %q", got)
			}
			if e := response.Header.Get("Content-Encoding"); e != "" {
				t.Errorf("Content-Encoding %s: the digest is over the coded content", e)
			}
		})
	}
}

// Signing for whatever Host says would bind the keys to a name of the asker's.
func TestOnlyTheConfiguredAuthorityIsSigned(t *testing.T) {
	address := served(t, botConfiguration(t), at(noon))
	asDirectory := http.Header{"Accept": {signing.DirectoryType}}
	for _, host := range []string{"other.example", address, "bot.example:8443", "www.bot.example", "bot.example.other.example"} {
		for _, path := range []string{signing.DirectoryPath, "/"} {
			response, _ := ask(t, "GET", address, host, path, asDirectory)
			if response.StatusCode != http.StatusMisdirectedRequest || response.Header.Get("Signature") != "" {
				t.Errorf("%s at %s: status %d, Signature %q", path, host, response.StatusCode, response.Header.Get("Signature"))
			}
		}
	}
	for _, host := range []string{"BOT.example", "bot.example:443"} {
		response, body := ask(t, "GET", address, host, signing.DirectoryPath, nil)
		verifyDirectory(t, response, body, noon)
	}
}

// A verifier of draft -01 fetches the origin itself.
func TestTheRootIsTheDirectoryForWhomAsksForIt(t *testing.T) {
	address := served(t, botConfiguration(t), at(noon))
	for accept, directory := range map[string]bool{
		signing.DirectoryType:                                true,
		"text/html, " + signing.DirectoryType + ";q=0.5":     true,
		"APPLICATION/http-message-signatures-directory+JSON": true,
		signing.DirectoryType + ";q=0":                       false,
		"text/html,application/xhtml+xml,*/*;q=0.8":          false,
		"application/*":                                      false,
		"":                                                   false,
		"application/json, text/plain;q=0.2, ;;;, */*; q=0.1,": false,
	} {
		t.Run(accept, func(t *testing.T) {
			response, body := ask(t, "GET", address, testAuthority, "/", http.Header{"Accept": {accept}})
			if response.Header.Get("Vary") != "Accept" {
				t.Errorf("Vary %q: a cache would mix the two", response.Header.Get("Vary"))
			}
			if directory {
				verifyDirectory(t, response, body, noon)
				return
			}
			if response.StatusCode != http.StatusFound || response.Header.Get("Location") != botPath {
				t.Errorf("status %d to %q", response.StatusCode, response.Header.Get("Location"))
			}
		})
	}
	if response, _ := ask(t, "GET", address, testAuthority, "/elsewhere", nil); response.StatusCode != http.StatusNotFound {
		t.Errorf("/elsewhere: status %d", response.StatusCode)
	}
}

// The clock turns under a running server.
func TestTheDirectoryFollowsTheRotation(t *testing.T) {
	c := botConfiguration(t)
	now := make(chan time.Time, 1)
	now <- noon
	clock := func() time.Time {
		instant := <-now
		now <- instant
		return instant
	}
	address := served(t, c, clock)
	later := noon.AddDate(0, 3, 0) // the first key has expired
	<-now
	now <- later
	response, body := ask(t, "GET", address, testAuthority, signing.DirectoryPath, nil)
	set, err := c.keySet()
	if err != nil {
		t.Fatal(err)
	}
	if keys := verifyDirectory(t, response, body, later); len(keys) != 1 || keys[0].ID != set.Keys()[1].ID {
		t.Errorf("published %v", keys)
	}
	_, page := ask(t, "GET", address, testAuthority, botPath, nil)
	if strings.Contains(string(page), set.Keys()[0].ID) || !strings.Contains(string(page), set.Keys()[1].ID) {
		t.Error("the page does not show the keys of the directory")
	}
}

func TestServeRefusesWhatThePageCouldNotSay(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*config)
		want   string
	}{
		"no operator":         {func(c *config) { c.Bot.Operator = "" }, "bot.operator"},
		"no contact":          {func(c *config) { c.Bot.Contact = "" }, "bot.contact"},
		"no key":              {func(c *config) { c.Signing.Keys = nil }, "signing.keys"},
		"an agent's path":     {func(c *config) { c.Signing.Agent = "https://bot.example/keys" }, "signing.agent"},
		"an agent over http":  {func(c *config) { c.Signing.Agent = "http://bot.example" }, "https"},
		"nothing but expired": {func(c *config) { c.Signing.Keys = c.Signing.Keys[:1]; c.Signing.Keys[0].Expires = moment{noon} }, "not expired"},
	} {
		t.Run(name, func(t *testing.T) {
			c := botConfiguration(t)
			tc.change(c)
			_, err := newBotServer(c, at(noon))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one that says %q", err, tc.want)
			}
		})
	}
}

// A stop finishes what is being answered.
func TestAStopLetsAnAnswerEnd(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	begun, release := make(chan struct{}), make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-release
		_, _ = io.WriteString(w, "whole")
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, ln, h, log.New(io.Discard, "", 0)) }()
	answered := make(chan string, 1)
	go func() {
		_, body := ask(t, "GET", ln.Addr().String(), testAuthority, "/", nil)
		answered <- string(body)
	}()
	<-begun
	stop()
	// The listener closes first: from then on the stop waits for the answer.
	for {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			break
		}
		_ = conn.Close()
	}
	select {
	case err := <-ended:
		t.Fatalf("the server ended before its answer: %v", err)
	default:
	}
	close(release)
	if got := <-answered; got != "whole" {
		t.Errorf("answer %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The program itself, as a service manager runs and stops it.
func TestServeStopsOnSIGTERM(t *testing.T) {
	c := botConfiguration(t)
	file := filepath.Join(t.TempDir(), "bot.yaml")
	text := "bot: {name: SampleBot, info_url: 'https://bot.example/about', operator: The Sample Survey, contact: 'https://survey.example/contact'}\n" +
		"signing: {keys: [{file: " + c.Signing.Keys[0].File + "}]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Args = []string{"agentcensus", "serve", "--listen", "127.0.0.1:0", "--config", file}
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(said)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, address, found := strings.Cut(strings.TrimSpace(first), " on http://")
	if !found {
		t.Fatalf("said %q", first)
	}
	if second, err := lines.ReadString('\n'); err != nil || !strings.Contains(second, "https://bot.example/about") {
		t.Errorf("said %q (%v) of an information URL that is not %s", second, err, botPath)
	}
	if response, _ := ask(t, "GET", address, testAuthority, botPath, nil); response.StatusCode != http.StatusOK {
		t.Errorf("%s: status %d", botPath, response.StatusCode)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("stopped: %v", err)
	}
}
