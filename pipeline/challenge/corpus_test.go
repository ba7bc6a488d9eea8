package challenge_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentcensus/pipeline/challenge"
)

// vendors are the corpus's providers whose challenges must be recognised, and the names they get here.
var vendors = map[string]string{
	"anubis": "anubis", "aws-waf": "aws_waf", "cloudflare-turnstile": "cloudflare", "datadome": "datadome",
	"fullstory-challenge": "fullstory", "hcaptcha": "hcaptcha", "imperva": "imperva", "perimeterx": "perimeterx",
}

// TestCorpus reads recorded answers: challenges of the vendors above are named, good pages are not.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("AGENTCENSUS_CORPUS")
	if dir == "" {
		t.Skip("AGENTCENSUS_CORPUS is not set")
	}
	files, err := filepath.Glob(filepath.Join(dir, "challenges", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no records: %v", err)
	}
	seen := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var record struct {
			Provider  string
			Challenge bool
			Status    int
			Headers   map[string][]string
			Body      string
		}
		if err := json.Unmarshal(data, &record); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		h := http.Header{}
		for name, values := range record.Headers {
			for _, v := range values {
				h.Add(name, v)
			}
		}
		vendor, ok := challenge.Recognise(record.Status, h, []byte(record.Body))
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		want, must := vendors[record.Provider]
		switch {
		case !record.Challenge && ok:
			t.Errorf("%s: a good page taken for a challenge of %s", name, vendor)
		case record.Challenge && must && vendor != want:
			t.Errorf("%s: got %q, want %q", name, vendor, want)
		case record.Challenge && must:
			seen++
		}
	}
	if seen < len(vendors) {
		t.Errorf("%d challenges of %d vendors found", seen, len(vendors))
	}
}
