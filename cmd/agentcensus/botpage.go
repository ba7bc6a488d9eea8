package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"agentcensus/pipeline"
	"agentcensus/pipeline/fetch"
	"agentcensus/pipeline/robots"
	"agentcensus/signing"
)

//go:embed bot.html
var botHTML string

// answerDays is within how many days the operator leaves a site alone, removes
// its record or corrects it, once asked to.
const answerDays = 7

// botPage is the page for site owners. What it says of the crawler comes from
// the configuration and the constants that the crawler itself obeys, so that
// the two cannot disagree. It is made anew for each request: which key signs
// changes with time.
type botPage struct {
	template *template.Template
	keys     signing.KeySet
	now      func() time.Time
	facts    botFacts
}

// botFacts are what the page says.
type botFacts struct {
	Name, Operator, UserAgent, Schedule string
	Contact                             contact
	Tokens                              []string // for robots.txt, the preferred first
	RobotsPath, CardPath, LegacyPath    string
	InFlight, Redirects, AnswerDays     int
	Seconds                             int // of one request
	RobotsBody, CardBody                byteCount
	Strict                              bool   // the robots policy
	Agent                               string // the Signature-Agent field
	Directory                           string // the key directory's URL
	Keys                                []botKey
}

// botKey is a key of the directory.
type botKey struct {
	Thumbprint         string
	Signs              bool   // now
	NotBefore, Expires string // "" for none
}

func newBotPage(c *config, keys signing.KeySet, authority string, now func() time.Time) (*botPage, error) {
	page, err := template.New("bot").Parse(botHTML)
	if err != nil {
		return nil, fmt.Errorf("read the page for site owners: %w", err)
	}
	agent, err := signing.NewAgent(c.Signing.Agent, signing.Form(c.Signing.Form))
	if err != nil {
		return nil, usagef("%s: signing.agent: %w", c.path, err)
	}
	return &botPage{page, keys, now, botFacts{
		Name: c.Bot.Name, Operator: c.Bot.Operator, UserAgent: c.userAgent(), Schedule: c.Bot.Schedule,
		Contact:    contactOf(c.Bot.Contact),
		Tokens:     c.Bot.Tokens,
		RobotsPath: pipeline.RobotsPath, CardPath: pipeline.CardPath, LegacyPath: pipeline.LegacyCardPath,
		InFlight: *c.Limits.InFlight, Redirects: fetch.MaxRedirects, AnswerDays: answerDays,
		Seconds:    int(requestTimeout / time.Second),
		RobotsBody: pipeline.MaxRobotsBody, CardBody: pipeline.MaxCardBody,
		Strict:    robots.Mode(c.Robots.Policy) == robots.Strict,
		Agent:     agent.Header(),
		Directory: "https://" + authority + signing.DirectoryPath,
	}}, nil
}

// ServeHTTP answers with the page as it is now.
func (p *botPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := p.now()
	facts := p.facts
	facts.Keys = botKeys(p.keys, now)
	var b bytes.Buffer
	if err := p.template.Execute(&b, facts); err != nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	sum := sha256.Sum256(b.Bytes())
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("Etag", `"`+hex.EncodeToString(sum[:16])+`"`)
	// The page loads nothing, runs nothing and sends nothing.
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b.Bytes()))
}

// botKeys are the keys of the directory at now.
func botKeys(keys signing.KeySet, now time.Time) []botKey {
	current, err := keys.Current(now)
	var out []botKey
	for _, k := range keys.Listed(now) {
		out = append(out, botKey{
			Thumbprint: k.ID,
			Signs:      err == nil && k.ID == current.ID,
			NotBefore:  day(k.NotBefore),
			Expires:    day(k.Expires),
		})
	}
	return out
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

// contact is how to reach the operator: a text and, where it is one, a link.
type contact struct {
	Text, URL string
}

func contactOf(text string) contact {
	switch u, err := url.Parse(text); {
	case err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "":
		return contact{text, text}
	case err == nil && u.Scheme == "mailto":
		return contact{u.Opaque, text}
	case strings.Count(text, "@") == 1 && !strings.ContainsAny(text, "/?"):
		return contact{text, "mailto:" + text}
	}
	return contact{text, ""}
}

// byteCount is written for people: 262,144 bytes (256 KiB).
type byteCount int

func (n byteCount) String() string {
	digits := strconv.Itoa(int(n))
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	b.WriteString(" bytes")
	if n%1024 == 0 {
		fmt.Fprintf(&b, " (%d KiB)", n/1024)
	}
	return b.String()
}
