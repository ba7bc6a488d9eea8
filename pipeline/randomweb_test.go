package pipeline_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"agentcensus/pipeline"
	"agentcensus/pipeline/simweb"
)

// randomWeb is a small web and how it is to be crawled.
type randomWeb struct {
	scenario *simweb.Scenario
	list     []pipeline.Site
	optedOut []string
	inFlight int
	asked    map[string][]string // by apex: what is asked of it, as far as that is known
}

// drawing is a scenario in the making.
type drawing struct {
	*simweb.Scenario
	graphs map[string]graph // by apex
}

// What the sites of a random web do by name; each stands for others that differ
// from it in the answer's details alone.
var (
	namedDNS   = []string{"nxdomain", "nodata", "servfail", "dns_slow", "alias", "many", "mixed", "private", "loopback", "metadata", "nat64", "mapped"}
	namedLinks = []string{"refused", "black_hole"}
	namedTLS   = []string{"expired", "wrong_name", "self_signed", "tls10", "rsa_kex", "alert", "stall", "eof", "plain_http"}
	namedMoves = []string{"all", "cards", "robots", "forbidden"}
	namedRules = []string{
		"robots_allow", "robots_disallow", "robots_disallow_named", "robots_named_allow", "robots_well_known", "robots_disallow_card",
		"robots_disallow_legacy", "robots_bom", "robots_utf16", "robots_huge", "robots_cut", "robots_text", "html", "empty", "gzip_twice",
		"forbidden", "rate_limited", "unavailable", "challenge_imperva", "redirect_off_site", "redirect_home", "redirect_loop", "redirect_maze",
		"silent", "slow_headers", "endless_1xx", "reset_before", "close_before", "close_after", "gzip_bomb", "noise",
	}
	namedCards = []string{
		"card_v1", "card_v03", "card_v02", "card_gzip", "card_chunked", "card_no_skills", "near", "json_other", "json_cut", "large", "html",
		"empty", "no_content", "forbidden", "payment_required", "version_rejected", "challenge_cloudflare", "rate_limited", "server_error",
		"teapot", "gone", "redirect_off_site", "redirect_http", "redirect_ip", "redirect_long", "redirect_loop", "redirect_maze",
		"redirect_home", "redirect_home_dots", "redirect_home_upper", "silent", "slow_headers", "slow_body", "stalled_body", "header_10mb",
		"endless_headers", "reset_before", "reset_headers", "close_before", "close_after", "close_announced", "until_close", "body_shorter",
		"body_longer", "chunk_cut", "chunk_lies", "two_lengths", "length_and_chunked", "upgrade_101", "h2_bytes", "http10", "status_999",
		"gzip_bomb", "gzip_bomb_twice", "zstd_bomb", "gzip_broken", "few_1xx",
	}
)

const sampleCard = `{"name":"Lamp","description":"lights","version":"1","supportedInterfaces":[{"url":"https://lamp.example/a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`

// endings are the answers of a graph that lead nowhere further.
func endings() []answer {
	written := func(status int, body, outcome, reason string) answer {
		a := answer{play: simweb.Play{Status: status, Body: body}, card: verdict{outcome, reason}}
		if status == 429 || status >= 500 {
			a.robots = verdict{"robots_unreachable", fmt.Sprintf("status_%d", status)}
		}
		return a
	}
	rules := func(body string, denies ...string) answer {
		a := written(200, body, "soft_404", "not_json")
		a.denies = denies
		for _, path := range []string{cardURL, legacyURL} {
			if a.disallows(path) {
				a.play.Denies = append(a.play.Denies, path)
			}
		}
		return a
	}
	broken := func(do, outcome, reason string) answer {
		v := verdict{outcome, reason}
		return answer{play: simweb.Play{Do: do}, card: v, robots: v}
	}
	named := func(do, outcome, reason string) answer {
		return answer{play: simweb.Play{Do: do}, card: verdict{outcome, reason}}
	}
	huge := written(200, "0123456789abcdef", "too_large", "")
	huge.play.Repeat = 1 << 16
	challenged := named("challenge_cloudflare", "challenged", "cloudflare")
	challenged.robots = verdict{"robots_unreadable", "challenge_cloudflare"}
	return []answer{
		written(404, "", "not_found", ""),
		written(200, sampleCard, "card", "R1"),
		rules("User-agent: *\nDisallow:\n"),
		rules("User-agent: *\nDisallow: /\n", "/"),
		rules("User-agent: *\nDisallow: /.well-known/\n", "/.well-known/"),
		rules("User-agent: *\nDisallow: "+cardURL+"\n", cardURL),
		rules("User-agent: *\nDisallow: "+legacyURL+"\n", legacyURL),
		rules("User-agent: *\nDisallow: /a\n", "/a"),
		written(200, "<html>lamps</html>", "soft_404", "html"),
		written(200, `{"lamps":3}`, "not_a_card", "other_json"),
		written(401, "", "auth_required", ""),
		written(403, "", "auth_required", ""),
		written(429, "", "rate_limited", ""),
		written(503, "", "server_error", ""),
		huge, challenged,
		named("close_after", "not_found", ""),
		named("close_announced", "not_found", ""),
		named("until_close", "not_found", ""),
		named("large", "too_large", ""),
		named("gzip_bomb", "too_large", ""),
		broken("close_before", "connection_lost", "eof"),
		broken("body_shorter", "connection_lost", "body_truncated"),
		broken("reset_before", "connection_lost", "reset"),
		broken("silent", "timeout", "headers"),
		broken("slow_body", "timeout", "body"),
		broken("header_10mb", "protocol_error", "headers_too_large"),
		broken("two_lengths", "protocol_error", "content_length"),
	}
}

// dead are the ways in which the www host of a graph cannot be reached.
var dead = map[string]struct {
	host simweb.ScenarioHost
	verdict
}{
	"dns":  {simweb.ScenarioHost{DNS: "nxdomain"}, verdict{"dns_not_found", "not_found"}},
	"ip":   {simweb.ScenarioHost{DNS: "loopback"}, verdict{"private_address", "private"}},
	"link": {simweb.ScenarioHost{Link: "refused"}, verdict{"connect_refused", "refused"}},
	"tls":  {simweb.ScenarioHost{TLS: "expired"}, verdict{"tls_certificate", "expired"}},
}

// drawCrawl draws a web of up to nine sites, a list of them, and the deaths of
// its crawl, with all that the model knows of what must come of it.
func drawCrawl(t *rapid.T) *simweb.Scenario {
	w := drawing{&simweb.Scenario{Only: true, Asked: map[string][]string{}}, map[string]graph{}}
	w.InFlight = rapid.OneOf(rapid.IntRange(1, 4), rapid.IntRange(1, 60)).Draw(t, "in flight")
	var names []string
	for i := range rapid.IntRange(1, 9).Draw(t, "sites") {
		apex := fmt.Sprintf("q%dz.example", i)
		if rapid.IntRange(0, 2).Draw(t, "kind") == 0 {
			w.Sites = append(w.Sites, w.drawNamed(t, apex))
		} else {
			w.Sites = append(w.Sites, w.drawGraph(t, apex))
		}
		names = append(names, apex)
		if rapid.IntRange(0, 7).Draw(t, "opted out") == 7 {
			w.OptedOut = append(w.OptedOut, apex)
			names = append(names, "shop."+apex)
		}
	}
	// Entries in any order, the www form before, after or instead of the apex.
	for range rapid.IntRange(len(names), 2*len(names)).Draw(t, "entries") {
		name := rapid.SampledFrom(names).Draw(t, "name")
		switch rapid.IntRange(0, 9).Draw(t, "form") {
		case 7, 8:
			name = "www." + name
		case 9:
			name = "_" + name
		}
		w.List = append(w.List, name)
	}
	w.Deaths = rapid.SliceOfN(rapid.Custom(drawDeath), 0, 3).Draw(t, "deaths")
	w.DiesWriting = rapid.IntRange(0, 3).Draw(t, "writing") == 3
	w.foretell()
	return w.Scenario
}

func drawDeath(t *rapid.T) simweb.ScenarioDeath {
	return simweb.ScenarioDeath{After: rapid.IntRange(0, 80).Draw(t, "after"), Signal: rapid.IntRange(0, 3).Draw(t, "signal") == 3}
}

// foretell writes down what the model says of each graph: how its first entry
// ends, and what is asked for that.
func (w *drawing) foretell() {
	for i := range w.Sites {
		site := &w.Sites[i]
		g, ok := w.graphs[site.Name]
		if !ok {
			continue
		}
		host := site.Name
		if i := slices.IndexFunc(w.List, func(s string) bool { return strings.TrimPrefix(s, "www.") == site.Name }); i >= 0 {
			host = w.List[i]
		}
		v, asked := g.predict(host)
		site.Expect = &simweb.ScenarioExpected{Outcome: v.outcome, Reason: v.reason}
		if !slices.Contains(w.OptedOut, site.Name) {
			w.Asked[site.Name] = asked
		}
	}
}

// drawNamed is a site of the simulated web's own behaviours.
func (w *drawing) drawNamed(t *rapid.T, apex string) simweb.ScenarioSite {
	s := simweb.ScenarioSite{Name: apex}
	if fault := rapid.IntRange(0, 11).Draw(t, "fault"); fault < 3 {
		switch fault {
		case 0:
			s.DNS = rapid.SampledFrom(namedDNS).Draw(t, "dns")
		case 1:
			s.Link = rapid.SampledFrom(namedLinks).Draw(t, "link")
		case 2:
			s.TLS = rapid.SampledFrom(namedTLS).Draw(t, "tls")
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "moves") == 3 {
		s.Move = rapid.SampledFrom(namedMoves).Draw(t, "move")
	}
	play := func(names []string, label string) *simweb.Play {
		return &simweb.Play{Do: rapid.SampledFrom(names).Draw(t, label)}
	}
	if rapid.Bool().Draw(t, "has rules") {
		s.Robots = play(namedRules, "robots")
	}
	s.Card, s.Legacy = play(namedCards, "card"), play(namedCards, "legacy")
	return s
}

// drawGraph is a site whose pages redirect to each other in every way that a
// Location can be written, apex and www, robots.txt included.
func (w *drawing) drawGraph(t *rapid.T, apex string) simweb.ScenarioSite {
	g := graph{apex: apex, pages: map[string]answer{}, dead: map[string]verdict{}}
	site := simweb.ScenarioSite{Name: apex}
	www := &simweb.ScenarioHost{}
	if rapid.IntRange(0, 5).Draw(t, "www dies") == 5 {
		how := dead[rapid.SampledFrom(slices.Sorted(maps.Keys(dead))).Draw(t, "dead")]
		*www, g.dead["www."+apex] = how.host, how.verdict
	}
	// Half of the answers are among the few that decide whether a crawl goes on.
	leaves := rapid.OneOf(rapid.SampledFrom(endings()), rapid.SampledFrom(slices.DeleteFunc(endings(), func(a answer) bool {
		return !slices.Contains([]string{"not_found", "card", "rate_limited", "not_a_card"}, a.card.outcome)
	})))
	// Of a robots.txt most are harmless, or the graph behind it is never seen.
	mild := rapid.SampledFrom(endings()[:8])
	for _, host := range []string{apex, "www." + apex} {
		pages := map[string]*simweb.Play{}
		for _, path := range []string{robotsURL, cardURL, legacyURL, "/a", "/b", "/c"} {
			var a answer
			switch n := rapid.IntRange(0, 9).Draw(t, "page"); {
			case n > 6 && path == robotsURL, n > 4 && path != robotsURL:
				a = drawRedirect(t, apex, host)
			case path == robotsURL && n > 0:
				a = mild.Draw(t, "rules")
			default:
				a = leaves.Draw(t, "answer")
			}
			g.pages[host+path] = a
			pages[path] = &a.play
		}
		h := simweb.ScenarioHost{Robots: pages[robotsURL], Card: pages[cardURL], Legacy: pages[legacyURL]}
		delete(pages, robotsURL)
		delete(pages, cardURL)
		delete(pages, legacyURL)
		if host == apex {
			site.Robots, site.Card, site.Legacy, site.Paths = h.Robots, h.Card, h.Legacy, pages
		} else {
			www.Robots, www.Card, www.Legacy, www.Paths = h.Robots, h.Card, h.Legacy, pages
		}
	}
	site.WWW = www
	w.graphs[apex] = g
	return site
}

func drawRedirect(t *rapid.T, apex, from string) answer {
	a := answer{play: simweb.Play{Status: rapid.SampledFrom([]int{301, 302, 303, 307, 308}).Draw(t, "status")}}
	if rapid.IntRange(0, 9).Draw(t, "leaves") == 9 {
		bad := rapid.SampledFrom([][2]string{
			{"https://elsewhere.example/x", "off_site"}, {"https://cdn." + apex + "/x", "off_site"}, {"http://" + apex + "/x", "not_https"},
			{"https://" + apex + ":8443/x", "port"}, {"https://me:you@" + apex + "/x", "user_info"}, {"", "no_location"},
		}).Draw(t, "bad")
		a.play.Location, a.refused = bad[0], bad[1]
		return a
	}
	host := rapid.SampledFrom([]string{apex, "www." + apex}).Draw(t, "host")
	path := rapid.SampledFrom([]string{robotsURL, cardURL, legacyURL, "/a", "/b", "/c", "/none"}).Draw(t, "path")
	if rapid.IntRange(0, 5).Draw(t, "query") == 5 {
		path += "?v=1"
	}
	a.to = host + path
	forms := []string{
		"https://" + host + path, "//" + host + path, "HTTPS://" + strings.ToUpper(host) + ":443/x/.." + path + "#top",
	}
	if host == from {
		forms = append(forms, path, "/./x/.."+path)
	}
	a.play.Location = rapid.SampledFrom(forms).Draw(t, "form")
	return a
}

// replay is a scenario with what it says of its crawl.
func replay(s *simweb.Scenario) (w *randomWeb, deaths []death, killWriting bool) {
	w = &randomWeb{scenario: s, optedOut: s.OptedOut, inFlight: cmp.Or(s.InFlight, 60), asked: s.Asked}
	names := s.List
	if names == nil {
		names = s.Names()
	}
	for i, name := range names {
		e := pipeline.Site{Rank: int64(i + 1), Domain: name}
		if strings.HasPrefix(name, "_") { // how lists are read is not tested here
			e.Invalid = "underscore"
		}
		w.list = append(w.list, e)
	}
	for _, d := range s.Deaths {
		deaths = append(deaths, death{d.After, d.Signal})
	}
	return w, deaths, s.DiesWriting
}

// expect says how each entry must end when the crawl is never interrupted, and
// what it may ask: nil when the scenario does not say.
func (w *randomWeb) expect(web *simweb.Web) (ends []verdict, asks [][]string) {
	seen := map[string]bool{}
	for _, s := range w.list {
		apex := strings.TrimPrefix(s.Domain, "www.")
		var v verdict
		var asked []string
		switch {
		case s.Invalid != "":
			v = verdict{"invalid_name", s.Invalid}
		case seen[apex]:
			v = verdict{"duplicate", ""}
		case w.covers(apex):
			v = verdict{"opted_out", ""}
		default:
			f := web.Fate(s.Rank, s.Domain)
			v = verdict{f.Outcome, f.Reason}
			if a, ok := w.asked[apex]; ok {
				asked = append([]string{}, a...)
			}
		}
		if s.Invalid == "" {
			seen[apex] = true
		}
		ends, asks = append(ends, v), append(asks, asked)
	}
	return ends, asks
}

func (w *randomWeb) covers(host string) bool {
	return slices.ContainsFunc(w.optedOut, func(d string) bool { return host == d || strings.HasSuffix(host, "."+d) })
}

// touchy says whether a server of the site ends connections without a word: a
// request that follows may be lost on one.
func (w *randomWeb) touchy(apex string) bool {
	for _, s := range w.scenario.Sites {
		if s.Name != apex {
			continue
		}
		plays := append(slices.Collect(maps.Values(s.Paths)), s.Robots, s.Card, s.Legacy)
		if www := s.WWW; www != nil {
			plays = append(slices.AppendSeq(plays, maps.Values(www.Paths)), www.Robots, www.Card, www.Legacy)
		}
		return slices.ContainsFunc(plays, func(p *simweb.Play) bool { return p != nil && p.Do == "close_after" })
	}
	return false
}
