package robots_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentcensus/pipeline/challenge"
	"agentcensus/pipeline/robots"
)

// obeyed are the corpus cases of lines without a colon, which RFC 9309 does not know as rules and this package obeys.
var obeyed = map[string]bool{"R0146": true, "R0539": true, "R0779": true}

func corpus(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("AGENTCENSUS_CORPUS")
	if dir == "" {
		t.Skip("AGENTCENSUS_CORPUS is not set")
	}
	return dir
}

// TestCorpusCases asks every case whose answer RFC 9309 settles.
func TestCorpusCases(t *testing.T) {
	f, err := os.Open(filepath.Join(corpus(t), "robots-cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	settled := 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var c struct {
			ID, Robots, Agent, URL string
			Base64                 string `json:"robots_b64"`
			Allowed                bool
			RFC                    *bool `json:"rfc9309"`
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.RFC == nil || !*c.RFC {
			continue
		}
		settled++
		body := []byte(c.Robots)
		if c.Base64 != "" {
			if body, err = base64.StdEncoding.DecodeString(c.Base64); err != nil {
				t.Fatal(err)
			}
		}
		p := robots.Read(robots.Response{Status: http.StatusOK, Body: body}, []string{c.Agent}, robots.RFC9309)
		d := p.Decide(robots.PathOf(c.URL))
		if want := c.Allowed && !obeyed[c.ID]; d.Allowed != want {
			t.Errorf("%s: %s for %s in\n%s\ngot %+v, want allowed %v", c.ID, c.URL, c.Agent, body, d, want)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if settled < 1000 {
		t.Errorf("only %d settled cases found", settled)
	}
}

// TestCorpusFilesAreNoChallenges reads real answers to /robots.txt, HTML pages among them: none is a challenge, however it
// is declared.
func TestCorpusFilesAreNoChallenges(t *testing.T) {
	dir := filepath.Join(corpus(t), "robots-files")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "INDEX") {
			continue
		}
		body, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"text/plain", "text/html; charset=utf-8"} {
			h := http.Header{"Content-Type": {kind}}
			if vendor, ok := challenge.Recognise(http.StatusOK, h, body); ok {
				t.Errorf("%s as %s: taken for a challenge of %s", e.Name(), kind, vendor)
			}
			p := robots.Read(robots.Response{Status: http.StatusOK, Header: h, Body: body}, []string{"ExampleBot"}, robots.RFC9309)
			if p.State() != robots.Open {
				t.Errorf("%s as %s: %v (%s), want open", e.Name(), kind, p.State(), p.Reason())
			}
		}
	}
}
