package simweb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Scenario is a web said by hand: sites by name, each with what it does and what
// a crawl must report of it. README.md shows the file format.
//
// A file may also say how the web is to be crawled, so that a crawl that went
// wrong can be made again:
//
//	only: true
//	list: [www.lamp.example, lamp.example, shop.lamp.example]
//	opted_out: [shop.lamp.example]
//	in_flight: 3
//	deaths: [{after: 7}, {after: 0, signal: true}]
//	dies_writing: true
//	asked: {lamp.example: [www.lamp.example/robots.txt, www.lamp.example/.well-known/agent-card.json]}
//	sites:
//	  - name: lamp.example
//	    card: {status: 200, body: "{}"}
//	    expect: {outcome: not_a_card, reason: other_json}
//
// The web itself makes no use of that. The Expect of a site is then that of its
// first entry in the list, as if it had not opted out.
type Scenario struct {
	Only  bool           `yaml:"only"` // other names do not exist; else they follow the seed
	Sites []ScenarioSite `yaml:"sites"`

	List        []string            `yaml:"list"`         // entries in order, from rank 1; the names of the sites when left out
	OptedOut    []string            `yaml:"opted_out"`    // domains of which nothing is asked
	InFlight    int                 `yaml:"in_flight"`    // requests at once, 1 to 60; 0 leaves it to the crawl
	Deaths      []ScenarioDeath     `yaml:"deaths"`       // of the crawl's runs, in order; no run after them dies
	DiesWriting bool                `yaml:"dies_writing"` // the first run that writes tables is killed before the last of them
	Asked       map[string][]string `yaml:"asked"`        // by apex: what a crawl without deaths asks in order, as host and path

	byName map[string]*ScenarioSite
}

// ScenarioDeath is the end of one run of a crawl before its time.
type ScenarioDeath struct {
	After  int  `yaml:"after"`  // so many moments: a call of the sink or its return, a dial, an answer
	Signal bool `yaml:"signal"` // a stop that lets what is open be finished; else a kill
}

// ScenarioSite is one site. A field left out is a good host with no robots.txt
// and no card.
type ScenarioSite struct {
	Name   string            `yaml:"name"` // apex or www form; answers for both
	Note   string            `yaml:"note"` // what it is to show
	DNS    string            `yaml:"dns"`
	Link   string            `yaml:"link"`
	TLS    string            `yaml:"tls"`
	Move   string            `yaml:"move"` // what the apex redirects to www: none, all, cards, robots or forbidden
	Robots *Play             `yaml:"robots"`
	Card   *Play             `yaml:"card"`
	Legacy *Play             `yaml:"legacy"`
	Paths  map[string]*Play  `yaml:"paths"` // of any other path, without query
	WWW    *ScenarioHost     `yaml:"www"`   // the www host where it differs
	Expect *ScenarioExpected `yaml:"expect"`
}

// ScenarioHost is a www host that does otherwise than its apex. What is left out
// is as at the apex.
type ScenarioHost struct {
	DNS    string           `yaml:"dns"`
	Link   string           `yaml:"link"`
	TLS    string           `yaml:"tls"`
	Robots *Play            `yaml:"robots"`
	Card   *Play            `yaml:"card"`
	Legacy *Play            `yaml:"legacy"`
	Paths  map[string]*Play `yaml:"paths"`
}

// Play is an answer: a named behaviour, or a plain answer written out, whose
// meaning the site's Expect must then say.
type Play struct {
	Do       string   `yaml:"do"`
	Status   int      `yaml:"status"`
	Headers  []string `yaml:"headers"` // "Name: value"
	Location string   `yaml:"location"`
	Body     string   `yaml:"body"`
	Repeat   int      `yaml:"repeat"` // the body so many times over
	// Denies is what the body, as a robots.txt, disallows, and Closes says that the
	// answer would end the site: for the log, see Entry. That 429, 5xx and a
	// redirect that leads out of the site do needs no saying.
	Denies []string `yaml:"denies"`
	Closes bool     `yaml:"closes"`
}

// ScenarioExpected is what a crawl must report.
type ScenarioExpected struct {
	Outcome string            `yaml:"outcome"`
	Reason  string            `yaml:"reason"`
	Fetches []ScenarioFetched `yaml:"fetches"`
}

// ScenarioFetched is one expected fetch.
type ScenarioFetched struct {
	Path      string `yaml:"path"`
	Outcome   string `yaml:"outcome"`
	Reason    string `yaml:"reason"`
	Status    int    `yaml:"status"`
	Requests  int    `yaml:"requests"`
	BodyBytes *int64 `yaml:"body_bytes"` // Unsure when left out
}

// LoadScenario reads a scenario file.
func LoadScenario(path string) (*Scenario, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("simweb: scenario: %w", err)
	}
	s, err := ReadScenario(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// ReadScenario reads a scenario. An unknown key or behaviour is an error; that
// of a key names its line.
func ReadScenario(r io.Reader) (*Scenario, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("simweb: scenario: %w", err)
	}
	var s Scenario
	if err := decodeStrict(text, &s); err != nil {
		return nil, fmt.Errorf("simweb: scenario: %w", err)
	}
	if err := s.check(newCatalogue()); err != nil {
		return nil, fmt.Errorf("simweb: scenario: %w", err)
	}
	return &s, nil
}

// decodeStrict turns a panic of the YAML reader, which an empty value with a tag
// brings about in goccy/go-yaml v1.19.2, into an error.
func decodeStrict(text []byte, into any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the YAML cannot be read: %v", p)
		}
	}()
	return yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(into)
}

// check verifies names and files the sites by theirs.
func (s *Scenario) check(all catalogue) error {
	s.byName = make(map[string]*ScenarioSite, len(s.Sites))
	for i := range s.Sites {
		site := &s.Sites[i]
		base := strings.TrimPrefix(strings.ToLower(site.Name), "www.")
		if base == "" {
			return fmt.Errorf("site %d has no name", i+1)
		}
		if s.byName[base] != nil {
			return fmt.Errorf("site %s is there twice", base)
		}
		s.byName[base] = site
		if err := site.check(all); err != nil {
			return fmt.Errorf("site %s: %w", site.Name, err)
		}
	}
	return s.checkCrawl()
}

func (s *Scenario) checkCrawl() error {
	if slices.Contains(s.List, "") || slices.Contains(s.OptedOut, "") {
		return errors.New("an entry of list or opted_out has no name")
	}
	if s.InFlight < 0 || s.InFlight > 60 {
		return fmt.Errorf("in_flight %d is not from 1 to 60", s.InFlight)
	}
	for _, d := range s.Deaths {
		if d.After < 0 {
			return fmt.Errorf("a death after %d moments", d.After)
		}
	}
	for _, site := range sortedKeys(s.Asked) {
		if s.byName[site] == nil {
			return fmt.Errorf("asked speaks of %s, which is no site", site)
		}
	}
	return nil
}

func (site *ScenarioSite) check(all catalogue) error {
	if _, ok := topologies[site.Move]; !ok {
		return fmt.Errorf("no move %q", site.Move)
	}
	hosts := []ScenarioHost{{site.DNS, site.Link, site.TLS, site.Robots, site.Card, site.Legacy, site.Paths}}
	if site.WWW != nil {
		hosts = append(hosts, *site.WWW)
	}
	custom := false
	for _, h := range hosts {
		if _, ok := nameServices[h.DNS]; h.DNS != "" && !ok {
			return fmt.Errorf("no dns behaviour %q", h.DNS)
		}
		if _, ok := links[h.Link]; h.Link != "" && !ok {
			return fmt.Errorf("no link behaviour %q", h.Link)
		}
		if _, ok := handshakes[h.TLS]; h.TLS != "" && !ok {
			return fmt.Errorf("no tls behaviour %q", h.TLS)
		}
		plays := []*Play{h.Robots, h.Card, h.Legacy}
		for _, p := range h.Paths {
			plays = append(plays, p)
		}
		for _, p := range plays {
			if p == nil {
				continue
			}
			if err := p.check(all); err != nil {
				return err
			}
			custom = custom || p.Do == ""
		}
		custom = custom || len(h.Paths) > 0
	}
	if custom && site.Expect == nil {
		return errors.New("answers that are written out need an expect")
	}
	if site.Expect != nil {
		if _, ok := outcomeOrder[site.Expect.Outcome]; !ok {
			return fmt.Errorf("no outcome %q", site.Expect.Outcome)
		}
	}
	return nil
}

func (p *Play) check(all catalogue) error {
	switch {
	case p.Do != "" && (len(p.Denies) > 0 || p.Closes):
		return fmt.Errorf("%q is a behaviour: what it denies and closes stands beside it", p.Do)
	case p.Do != "" && (p.Status != 0 || p.Body != "" || p.Location != "" || len(p.Headers) > 0):
		return fmt.Errorf("%q is a behaviour: it takes no status, headers, location or body", p.Do)
	case p.Do != "" && all[p.Do] == nil:
		return fmt.Errorf("no behaviour %q", p.Do)
	case p.Do == "" && (p.Status < 100 || p.Status > 999):
		return fmt.Errorf("status %d is not from 100 to 999", p.Status)
	case p.Repeat < 0 || p.Repeat > 64<<20/max(1, len(p.Body)):
		return fmt.Errorf("repeat %d makes more than 64 MB", p.Repeat)
	}
	for _, d := range p.Denies {
		if !strings.HasPrefix(d, "/") {
			return fmt.Errorf("%q denies no path", d)
		}
	}
	for _, h := range p.Headers {
		if name, _, ok := strings.Cut(h, ":"); !ok || name == "" || strings.ContainsAny(h, "\r\n") {
			return fmt.Errorf("%q is no header line", h)
		}
	}
	return nil
}

// Names lists the sites in their order.
func (s *Scenario) Names() []string {
	out := make([]string, len(s.Sites))
	for i, site := range s.Sites {
		out[i] = site.Name
	}
	return out
}

// behaviour makes the behaviour of a play; nil is none for a nil play.
func (p *Play) behaviour(all catalogue) *behaviour {
	if p == nil {
		return nil
	}
	if p.Do != "" {
		return all[p.Do]
	}
	b := &behaviour{
		name: "written_out", custom: true, deniesMore: p.Denies,
		shuts: p.Closes || p.Status < 200 || p.Status == http.StatusTooManyRequests || p.Status >= 500,
	}
	b.play = func(x *exchange) bool {
		var header strings.Builder
		for _, h := range p.Headers {
			header.WriteString(x.locate(h) + "\r\n")
		}
		if p.Location != "" {
			x.location = x.locate(p.Location)
			header.WriteString("Location: " + x.location + "\r\n")
		}
		return x.reply(p.Status, header.String(), bytes.Repeat([]byte(x.locate(p.Body)), max(p.Repeat, 1)))
	}
	return b
}

// scripted is the plan of a scenario's site, nil when it has none of that name.
func (w *Web) scripted(s *Scenario, base string) *plan {
	site := s.byName[base]
	if site == nil {
		return nil
	}
	p := &plan{
		base: base, seed: mix(w.cfg.Seed ^ fold(base)), bot: w.cfg.Bot,
		local: w.cfg.Addresses == Loopback, pad: w.cfg.CardBytes, all: w.catalogue,
		dns: nameServices["ok"], move: topologies[site.Move],
		robots: w.catalogue["not_found"], card1: w.catalogue["not_found"], card2: w.catalogue["not_found"],
	}
	p.set(ScenarioHost{site.DNS, site.Link, site.TLS, site.Robots, site.Card, site.Legacy, site.Paths})
	if site.WWW != nil {
		www := *p
		www.set(*site.WWW)
		p.www = &www
	}
	if e := site.Expect; e != nil {
		f := e.fate()
		p.expect = &f
	}
	return p
}

func (p *plan) set(h ScenarioHost) {
	if h.DNS != "" {
		p.dns = nameServices[h.DNS]
	}
	if h.Link != "" {
		p.link = links[h.Link]
	}
	if h.TLS != "" {
		p.shake = handshakes[h.TLS]
	}
	for at, play := range map[**behaviour]*Play{&p.robots: h.Robots, &p.card1: h.Card, &p.card2: h.Legacy} {
		if b := play.behaviour(p.all); b != nil {
			*at = b
		}
	}
	if h.Paths != nil {
		p.paths = make(map[string]*behaviour, len(h.Paths))
		for path, play := range h.Paths {
			p.paths[path] = play.behaviour(p.all)
		}
	}
}

func (e *ScenarioExpected) fate() Fate {
	f := Fate{Outcome: e.Outcome, Reason: e.Reason}
	for _, r := range e.Fetches {
		bytes := Unsure
		if r.BodyBytes != nil {
			bytes = *r.BodyBytes
		}
		f.Fetches = append(f.Fetches, FetchFate{r.Path, r.Outcome, r.Reason, r.Status, r.Requests, bytes})
	}
	return f
}
