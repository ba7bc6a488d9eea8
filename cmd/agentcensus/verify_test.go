package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentcensus/signing"
)

// draftNow is when the drafts' own vectors were signed, in seconds since 1970.
const draftNow = 1735689600

// requestVector is a signed request of the corpus.
type requestVector struct {
	Name string
	Key  struct{ X string }
	Now  int64

	Message struct {
		Kind, Method, URL string
		Headers           [][2]string
	}
	Base   string `json:"signature_base"`
	Expect string
}

func requestVectors(t *testing.T, file string) []requestVector {
	t.Helper()
	corpus := os.Getenv("AGENTCENSUS_CORPUS")
	if corpus == "" {
		t.Skip("AGENTCENSUS_CORPUS is not set")
	}
	text, err := os.ReadFile(filepath.Join(corpus, "web-bot-auth", file))
	if err != nil {
		t.Fatal(err)
	}
	var all, requests []requestVector
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		if v.Message.Kind == "request" {
			requests = append(requests, v)
		}
	}
	if len(requests) == 0 {
		t.Fatal("there is no request in the file")
	}
	return requests
}

// file writes v as JSON to a new file.
func file(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "input.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// output runs a command line and returns its exit status and standard output.
func output(t *testing.T, args ...string) (int, []byte) {
	t.Helper()
	var out, errs bytes.Buffer
	status := run(t.Context(), args, streams{strings.NewReader(""), &out, &errs})
	if errs.Len() > 0 {
		t.Logf("standard error: %s", errs.String())
	}
	return status, out.Bytes()
}

// verified is the answer of verify --json.
func verified(t *testing.T, directory, request string, args ...string) (int, verification) {
	t.Helper()
	status, text := output(t, append([]string{"verify", "--json", "--directory", directory, request}, args...)...)
	var v verification
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("exit status %d, %q: %v", status, text, err)
	}
	return status, v
}

// The corpus's signatures are all by the published key: everything about them
// is good but the key. Sent to another site they are not even that.
func TestVerifyJudgesTheCorpus(t *testing.T) {
	for _, name := range []string{"draft-ietf-00.json", "draft-ietf-01-editor.json", "own-profile.json"} {
		for _, v := range requestVectors(t, name) {
			t.Run(name+"/"+v.Name, func(t *testing.T) {
				if v.Expect != "valid" {
					t.Fatalf("expects %q, which this test does not know", v.Expect)
				}
				if v.Now == 0 {
					v.Now = draftNow
				}
				directory := file(t, map[string]any{"keys": []any{map[string]string{"kty": "OKP", "crv": "Ed25519", "x": v.Key.X}}})
				headers := make(map[string]signing.FieldLines)
				for _, line := range v.Message.Headers {
					headers[line[0]] = append(headers[line[0]], line[1])
				}
				request := signing.RequestJSON{Method: v.Message.Method, URL: v.Message.URL, Headers: headers}
				flags := []string{"--at", fmt.Sprint(v.Now), "--max-lifetime", "900000h"}

				status, got := verified(t, directory, file(t, request), flags...)
				if status != exitFailed || got.Reason != string(reasonTestKey) || got.Base != v.Base {
					t.Errorf("exit status %d, %+v", status, got)
				}
				headers["Host"] = signing.FieldLines{"other.example"}
				request.URL = "https://other.example/"
				status, got = verified(t, directory, file(t, request), flags...)
				if status != exitFailed || got.Reason != string(signing.WrongSignature) {
					t.Errorf("at another site: exit status %d, %+v", status, got)
				}
			})
		}
	}
}

// The same requests, signed by a key of one's own.
func TestWhatSignPrintsForTheCorpusVerifies(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key.pem")
	if status, _ := output(t, "keys", "new", "--out", key); status != exitComplete {
		t.Fatalf("keys new: exit status %d", status)
	}
	status, text := output(t, "keys", "show", "--json", "--key", key)
	var shown struct{ JWK signing.JWK }
	if err := json.Unmarshal(text, &shown); err != nil || status != exitComplete {
		t.Fatalf("keys show: exit status %d, %v", status, err)
	}
	directory := file(t, map[string]any{"keys": []signing.JWK{shown.JWK}})
	signed := 0
	for _, v := range requestVectors(t, "own-profile.json") {
		t.Run(v.Name, func(t *testing.T) {
			userAgent := ""
			for _, line := range v.Message.Headers {
				if line[0] == "User-Agent" {
					userAgent = line[1]
				}
			}
			status, request := output(t, "sign", "--key", key, "--agent", "https://bot.example", "--form", "dictionary",
				"--user-agent", userAgent, v.Message.Method, v.Message.URL)
			if v.Message.Method != "GET" || !strings.HasPrefix(v.Message.URL, "https://") {
				if status != exitUsage || len(request) > 0 {
					t.Errorf("exit status %d, %s: the crawler would never send it", status, request)
				}
				return
			}
			if status != exitComplete {
				t.Fatalf("sign: exit status %d", status)
			}
			signed++
			status, got := verified(t, directory, file(t, json.RawMessage(request)), "--agent", "https://bot.example", "--strict")
			if status != exitComplete || !got.Verified {
				t.Errorf("exit status %d, %+v", status, got)
			}
		})
	}
	if signed == 0 {
		t.Error("nothing of the corpus was signed")
	}
}

// A directory may list the published key beside a real one; it counts for nothing.
func TestThePublishedKeyBesideARealOneCountsForNothing(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key.pem")
	if status, _ := output(t, "keys", "new", "--out", key); status != exitComplete {
		t.Fatalf("keys new: exit status %d", status)
	}
	own, err := signing.LoadKey(key)
	if err != nil {
		t.Fatal(err)
	}
	directory := file(t, map[string]any{"keys": []any{
		map[string]string{"kty": "OKP", "crv": "Ed25519", "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}, own.JWK(),
	}})
	status, request := output(t, "sign", "--key", key, "--agent", "https://bot.example", "--form", "dictionary",
		"--user-agent", "SampleBot/1.0", "GET", "https://site.example/")
	if status != exitComplete {
		t.Fatalf("sign: exit status %d", status)
	}
	if status, got := verified(t, directory, file(t, json.RawMessage(request))); status != exitComplete || got.KeyID != own.ID {
		t.Errorf("exit status %d, %+v", status, got)
	}
}
