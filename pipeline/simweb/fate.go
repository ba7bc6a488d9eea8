package simweb

import "strings"

// The three paths of a crawl, in the order it asks them.
const (
	RobotsPath = "/robots.txt"
	CardPath   = "/.well-known/agent-card.json"
	LegacyPath = "/.well-known/agent.json"
)

// Fate is what an honest crawl reports of one list entry.
type Fate struct {
	Outcome string
	Reason  string
	Fetches []FetchFate // in the order they end
	Card    *CardFacts  // nil unless Outcome is "card"
	Change  string      // what became of a publisher at this epoch: "", "appeared", "gone", "body", "version", "skill_added", "skill_removed", "signed", "down"
}

// FetchFate is one fetch: the request for one of the three paths and its
// redirects. A www origin whose robots.txt is read before a redirect to it is a
// fetch of /robots.txt of its own.
type FetchFate struct {
	Path      string
	Outcome   string
	Reason    string
	Status    int   // of the final answer; 0 when none came
	Requests  int   // sent; an answer known from an earlier fetch is not sent for again
	BodyBytes int64 // decoded, redirects included, of bodies that came whole or to their limit; Unsure when the scenario does not say
}

// Unsure as BodyBytes says that the number is not stated.
const Unsure = int64(-1)

// outcomeOrder is the order in which the outcome of one fetch outranks another.
var outcomeOrder = rankOf(
	"card",
	"near_card", "not_a_card", "invalid_json", "too_large", "soft_404", "auth_required", "payment_required",
	"version_rejected", "challenged", "rate_limited", "server_error", "client_error", "redirect_refused", "not_found",
	"robots_disallowed", "robots_unreachable", "robots_unreadable", "opted_out",
	"dns_not_found", "dns_no_address", "dns_error", "private_address", "connect_refused", "timeout", "connection_lost",
	"tls_certificate", "tls_handshake", "protocol_error",
	"invalid_name", "duplicate", "interrupted",
)

func rankOf(words ...string) map[string]int {
	m := make(map[string]int, len(words))
	for i, w := range words {
		m[w] = i
	}
	return m
}

// unanswered says whether an outcome means that no whole HTTP answer came.
func unanswered(outcome string) bool {
	n, ok := outcomeOrder[outcome]
	return ok && n >= outcomeOrder["dns_not_found"] && n <= outcomeOrder["protocol_error"]
}

// Fate says what an honest crawl reports of the entry at rank. An entry that
// [Web.Names] made invalid or a duplicate is known by its rank.
func (w *Web) Fate(rank int64, name string) Fate {
	return w.FateAt(int(w.epoch.Load()), rank, name)
}

// FateAt is Fate at another epoch.
func (w *Web) FateAt(epoch int, rank int64, name string) Fate {
	if e := w.entry(rank); e.name == name && e.fate != "" {
		return Fate{Outcome: e.fate, Reason: e.reason}
	}
	if why := entryFault(name); why != "" {
		return Fate{Outcome: "invalid_name", Reason: why}
	}
	p := w.plan(name, epoch)
	if p == nil {
		return Fate{Outcome: "dns_not_found", Reason: "not_found"}
	}
	if p.expect == nil {
		return p.fate(name)
	}
	f := *p.expect
	if f.Fetches == nil && p.composes() {
		f.Fetches = p.fate(name).Fetches
	}
	return f
}

// fate walks the plan as the flow of a crawl has it. What each answer means is
// stated beside the answer; only the order is decided here.
func (p *plan) fate(host string) Fate {
	f := Fate{Change: p.change}
	if e := p.at(host).unreachable(); e.outcome != "" {
		f.Outcome, f.Reason = e.outcome, e.reason
		// Without an address to dial there is no fetch.
		if !strings.HasPrefix(e.outcome, "dns_") && e.outcome != "private_address" {
			row := FetchFate{Path: RobotsPath, Outcome: e.outcome, Reason: e.reason}
			if p.at(host).shake == shakeClientCert {
				row.Requests = 1 // written before the alert came
			}
			f.Fetches = []FetchFate{row}
		}
		return f
	}
	if p.late(host) {
		f.Outcome, f.Reason = "timeout", "headers"
		f.Fetches = []FetchFate{{Path: RobotsPath, Outcome: f.Outcome, Reason: f.Reason, Requests: 1}}
		return f
	}
	v := visit{plan: p, known: map[string]bool{}, robots: map[string]*policy{}}
	first := v.readRobots(host)
	if first.ends {
		f.Fetches = v.fetches
		f.Outcome, f.Reason = first.outcome, first.reason
		return f
	}
	for i, path := range [...]string{CardPath, LegacyPath} {
		if why := first.denies[i]; why != "" {
			v.fetches = append(v.fetches, FetchFate{Path: path, Outcome: "robots_disallowed", Reason: why})
			continue
		}
		row, facts := v.readCard(host, path)
		v.fetches = append(v.fetches, row)
		f.Card = facts
		if v.closed != nil || row.Outcome == "card" || row.Status == 429 || unanswered(row.Outcome) {
			break
		}
	}
	f.Fetches = v.fetches
	f.Outcome, f.Reason = decide(v.fetches)
	if v.closed != nil {
		f.Outcome, f.Reason = v.closed.outcome, v.closed.reason
	}
	return f
}

// decide is the outcome of a site: the highest of its card fetches; a
// disallowed path speaks only when nothing was asked.
func decide(rows []FetchFate) (outcome, reason string) {
	for _, r := range rows {
		if r.Path == RobotsPath {
			continue
		}
		if outcome == "" || outcome != r.Outcome && (outcome == "robots_disallowed" ||
			r.Outcome != "robots_disallowed" && outcomeOrder[r.Outcome] < outcomeOrder[outcome]) {
			outcome, reason = r.Outcome, r.Reason
		}
	}
	return outcome, reason
}

// policy is what one robots.txt says of the two card paths.
type policy struct {
	outcome, reason string
	ends            bool // no card path may be asked
	denies          [2]string
	deniesHome      bool
}

// visit is the memory of one honest visit.
type visit struct {
	plan    *plan
	known   map[string]bool // URLs asked, without the scheme
	robots  map[string]*policy
	closed  *policy // the robots.txt of the other origin, when it closed the site
	fetches []FetchFate
}

func (v *visit) readRobots(host string) *policy {
	row := FetchFate{Path: RobotsPath}
	at, b := v.follow(host, RobotsPath, &row)
	e := b.effectAt(RobotsPath)
	row.Outcome, row.Reason, row.Status = e.outcome, e.reason, e.status
	v.fetches = append(v.fetches, row)
	pol := &policy{outcome: e.outcome, reason: e.reason, denies: b.denies, deniesHome: b.deniesHome}
	pol.ends = e.outcome != "rules" && e.outcome != "no_rules"
	v.robots[host], v.robots[at] = pol, pol
	return pol
}

func (v *visit) readCard(host, path string) (FetchFate, *CardFacts) {
	row := FetchFate{Path: path}
	if to, ok := v.plan.moved(host, path); ok {
		pol := v.robots[to]
		if pol == nil {
			pol = v.readRobots(to)
		}
		refusal := ""
		switch {
		case pol.ends:
			refusal, v.closed = "robots_closed", pol
		case pol.denies[cardIndex(path)] != "":
			refusal = "robots_disallowed"
		}
		if refusal != "" { // the redirect's own answer stands, its target is not asked
			v.ask(host+path, int64(len(movedPage)), &row)
			row.Outcome, row.Reason, row.Status = "redirect_refused", refusal, 301
			return row, nil
		}
	}
	at, b := v.follow(host, path, &row)
	e := b.effectAt(path)
	if b.hops == hopHome && v.robots[at].deniesHome {
		e = effect{"redirect_refused", "robots_disallowed", 302}
	}
	row.Outcome, row.Reason, row.Status = e.outcome, e.reason, e.status
	if b.template == nil || row.Outcome != "card" {
		return row, nil
	}
	body, facts := v.plan.card(b.template, at)
	facts.CardURL, facts.Path, facts.BodyBytes = "https://"+at+path, path, int64(len(body))
	return row, &facts
}

func cardIndex(path string) int {
	if path == CardPath {
		return 0
	}
	return 1
}

// follow adds up the requests of one fetch, from host to the host whose
// behaviour decides it.
func (v *visit) follow(host, path string, row *FetchFate) (string, *behaviour) {
	if to, ok := v.plan.moved(host, path); ok {
		v.ask(host+path, int64(len(movedPage)), row)
		host = to
	}
	b := v.plan.answer(host, path)
	switch b.hops {
	case hopMaze:
		// The first request and three redirects, whatever came before.
		row.Requests = 4
	case hopHome:
		v.ask(host+path, 0, row)
		if path == RobotsPath || !v.robots[host].deniesHome {
			v.ask(host+"/", int64(len(homePage)), row)
		}
	case hopTwo:
		v.ask(host+path, 0, row)
		v.ask(host+path+"?again", 0, row)
	default:
		v.ask(host+path, b.bodyBytes(v.plan, host, path), row)
	}
	return host, b
}

// ask counts a request unless its answer is known already.
func (v *visit) ask(url string, bytes int64, row *FetchFate) {
	if v.known[url] {
		return
	}
	v.known[url] = true
	row.Requests++
	if bytes == Unsure || row.BodyBytes == Unsure {
		row.BodyBytes = Unsure
		return
	}
	row.BodyBytes += bytes
}
