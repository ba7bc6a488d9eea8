package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"agentcensus/pipeline"
	"agentcensus/pipeline/simweb"
)

// verdict is an outcome and its reason.
type verdict struct{ outcome, reason string }

func (v verdict) String() string { return strings.TrimSpace(v.outcome + " " + v.reason) }

// outcomes are the words for how a site ends, from the highest to the lowest:
// the design's table, written out once more, so that the crawler's own order is
// not taken for granted. unanswered are those of its group "no answer", which
// end a site: its legacy path is not asked after one of them.
var (
	outcomes = slices.Concat([]string{
		"card",
		"near_card", "not_a_card", "invalid_json", "too_large", "soft_404", "auth_required", "payment_required", "version_rejected",
		"challenged", "rate_limited", "server_error", "client_error", "redirect_refused", "not_found",
		"robots_disallowed", "robots_unreachable", "robots_unreadable", "opted_out",
	}, unanswered, []string{
		"invalid_name", "duplicate", "interrupted",
	})
	unanswered = []string{
		"dns_not_found", "dns_no_address", "dns_error", "private_address", "connect_refused", "timeout", "connection_lost",
		"tls_certificate", "tls_handshake", "protocol_error",
	}
)

// The crawler has the design's order of outcomes, and knows which of them are
// no answer.
func TestOutcomesStandAsDesigned(t *testing.T) {
	var have []string
	for _, o := range pipeline.Outcomes {
		have = append(have, string(o))
		if want := slices.Contains(unanswered, string(o)); o.NoAnswer() != want {
			t.Errorf("%s is no answer: %t, want %t", o, o.NoAnswer(), want)
		}
	}
	if d := gocmp.Diff(outcomes, have); d != "" {
		t.Errorf("-want +have:\n%s", d)
	}
}

// answer is one way to answer a request, with what it means at either kind of
// path. Neither fetch nor robots nor agentcard is asked about that.
type answer struct {
	play simweb.Play

	card   verdict  // at a card path
	robots verdict  // at /robots.txt; outcome "" leaves the site open
	denies []string // beginnings of the paths that it disallows as a robots.txt

	to      string // where it redirects, as host and path; "" for none
	refused string // why its redirect leads nowhere
}

func (a answer) redirects() bool { return a.to != "" || a.refused != "" }

// graph is a site whose every URL may lead to every other one.
type graph struct {
	apex  string
	pages map[string]answer  // by host and path; 404 for the rest
	dead  map[string]verdict // hosts that no request gets through to
}

// model walks a graph as the promises say: robots.txt first (P1), no URL twice
// (P3), at most three redirects and only where robots.txt lets them lead (P6).
// It is the crawl's second opinion: how the answers come about (sockets, TLS,
// bodies, rules, cards) is none of its business.
type model struct {
	graph
	known   map[string]bool
	asked   []string // the requests that reach a server, in order
	rules   map[string]*answer
	waiting map[string]bool
	end     *verdict // by which a robots.txt ended the site
}

const (
	cardURL   = "/.well-known/agent-card.json"
	legacyURL = "/.well-known/agent.json"
	robotsURL = "/robots.txt"
)

// predict says how a crawl of the site under host must end, and what it asks.
func (g graph) predict(host string) (verdict, []string) {
	m := &model{graph: g, known: map[string]bool{}, rules: map[string]*answer{}, waiting: map[string]bool{}}
	if v, ok := g.dead[host]; ok {
		return v, nil
	}
	rules := m.rulesOf(host)
	if m.end != nil {
		return *m.end, m.asked
	}
	best := verdict{"robots_disallowed", "star_group"}
	for _, path := range []string{cardURL, legacyURL} {
		if rules.disallows(path) {
			continue
		}
		v := m.card(host + path)
		if m.end != nil {
			return *m.end, m.asked
		}
		if best.outcome == "robots_disallowed" || before(v.outcome, best.outcome) {
			best = v
		}
		if v.outcome == "card" || v.outcome == "rate_limited" || slices.Contains(unanswered, v.outcome) {
			break
		}
	}
	return best, m.asked
}

func before(a, b string) bool {
	return slices.Index(outcomes, a) < slices.Index(outcomes, b)
}

func (m *model) card(u string) verdict {
	a, why := m.follow(u, m.forbids)
	if why != "" {
		return verdict{"redirect_refused", why}
	}
	return a.card
}

// rulesOf is the robots.txt that holds for a host.
func (m *model) rulesOf(host string) *answer {
	if r := m.rules[host]; r != nil {
		return r
	}
	if m.waiting[host] {
		return &answer{robots: verdict{"robots_unreadable", "robots_loop"}}
	}
	m.waiting[host] = true
	defer delete(m.waiting, host)

	reading := host // whose robots.txt the redirects have come to
	a, why := m.follow(host+robotsURL, func(u string) string {
		h, path := split(u)
		if path == robotsURL {
			reading = h
		}
		if h == reading {
			return "" // its rules are what is being read
		}
		return m.forbids(u)
	})
	if why != "" {
		a = answer{robots: verdict{"robots_unreadable", why}}
	}
	if a.robots.outcome != "" && m.end == nil {
		m.end = &a.robots
	}
	m.rules[host] = &a
	return &a
}

// forbids says why a URL must not be asked, "" when it may be.
func (m *model) forbids(u string) string {
	host, path := split(u)
	switch r := m.rulesOf(host); {
	case r.robots.reason == "robots_loop":
		return "robots_loop"
	case r.robots.outcome != "":
		return "robots_closed"
	case r.disallows(path):
		return "robots_disallowed"
	}
	return ""
}

func (a *answer) disallows(path string) bool {
	return path != robotsURL && slices.ContainsFunc(a.denies, func(d string) bool { return strings.HasPrefix(path, d) })
}

// follow goes from u along redirects to the answer that counts, or says why it
// stops.
func (m *model) follow(u string, forbids func(string) string) (answer, string) {
	var chain []string
	for {
		if !m.known[u] {
			if why := forbids(u); why != "" {
				return answer{}, why
			}
		}
		chain = append(chain, u)
		a := m.ask(u)
		switch {
		case !a.redirects():
			return a, ""
		case len(chain) == 4:
			return a, "too_many"
		case a.refused != "":
			return a, a.refused
		case slices.Contains(chain, a.to):
			return a, "loop"
		}
		u = a.to
	}
}

func (m *model) ask(u string) answer {
	host, path := split(u)
	if v, ok := m.dead[host]; ok {
		return answer{card: v, robots: v}
	}
	if !m.known[u] {
		m.known[u] = true
		m.asked = append(m.asked, u)
	}
	path, _, _ = strings.Cut(path, "?")
	if a, ok := m.pages[host+path]; ok {
		return a
	}
	return answer{card: verdict{"not_found", ""}}
}

func split(u string) (host, path string) {
	i := strings.IndexByte(u, '/')
	return u[:i], u[i:]
}
