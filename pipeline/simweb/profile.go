package simweb

import "strings"

// profile is how often a seeded web does what. A choice has a weight within its
// list; faults are shares of all sites.
type profile struct {
	cards  float64  // share of sites that publish a card
	faults []choice // shares; the rest can be reached
	moves  []choice
	robots []choice
	answer []choice // at the card paths of sites without a card
	sister float64  // share of sites whose legacy path answers as the card path does
}

type choice struct {
	name   string
	weight float64
}

// profiles by name. The measured weights follow what is published: of a top
// million 84.7 % answer; 91 % of the 200s at a well-known path are soft 404s;
// 8 % of robots.txt files are HTML; 12 % of sites refuse bots at the edge; of
// hosts with an API 0.3 % have a card, a quarter of them at the legacy path.
var profiles = map[string]*profile{
	Measured: {
		cards: 0.003,
		faults: []choice{
			{"dns:nxdomain", 0.04}, {"dns:nodata", 0.02}, {"dns:servfail", 0.008}, {"dns:dns_refused", 0.002},
			{"dns:private", 0.001}, {"dns:loopback", 0.001}, {"link:refused", 0.018}, {"link:black_hole", 0.004},
			{"tls:expired", 0.006}, {"tls:wrong_name", 0.012}, {"tls:self_signed", 0.003}, {"tls:unknown_ca", 0.003},
			{"tls:alert", 0.004}, {"tls:rsa_kex", 0.001}, {"tls:tls10", 0.001}, {"tls:eof", 0.002},
		},
		moves: []choice{{"none", 64}, {"all", 30}, {"cards", 3}, {"robots", 2}, {"forbidden", 1}},
		robots: []choice{
			{"robots_allow", 38}, {"robots_allow_all", 8}, {"robots_other_bots", 4}, {"robots_html_type", 1}, {"robots_tie", 0.2}, {"robots_named_allow", 0.2},
			{"not_found", 22}, {"html", 8}, {"empty", 2}, {"robots_comment", 1}, {"robots_text", 1}, {"forbidden", 4}, {"unauthorized", 0.5},
			{"robots_disallow", 2.5}, {"robots_well_known", 0.3}, {"robots_disallow_named", 0.3}, {"robots_disallow_card", 0.2},
			{"robots_bom", 0.1}, {"gzip_undeclared", 0.1}, {"robots_utf16", 0.05},
			{"server_error", 0.5}, {"unavailable", 0.7}, {"origin_down", 0.3}, {"rate_limited", 0.5},
			{"challenge_cloudflare", 0.6}, {"challenge_siteground", 0.2}, {"challenge_vercel", 0.1},
			{"redirect_off_site", 1}, {"redirect_http", 0.3}, {"redirect_home", 0.7}, {"redirect_maze", 0.1},
			{"close_before", 0.3}, {"body_shorter", 0.1}, {"silent", 0.05}, {"http09", 0.05}, {"status_999", 0.05},
		},
		answer: []choice{
			{"not_found", 56}, {"not_found_json", 4}, {"gone", 0.5}, {"html", 13}, {"empty", 0.7}, {"soft_text", 0.5},
			{"forbidden", 6}, {"unauthorized", 0.6}, {"payment_required", 0.2}, {"rate_limited", 1}, {"method_not_allowed", 0.5}, {"bad_request", 0.7},
			{"challenge_cloudflare", 3}, {"challenge_vercel", 0.4}, {"challenge_aws_waf", 0.4}, {"challenge_datadome", 0.3}, {"challenge_imperva", 0.3},
			{"server_error", 1}, {"unavailable", 0.7}, {"bad_gateway", 0.3},
			{"redirect_home", 4}, {"redirect_home_absolute", 1}, {"redirect_off_site", 2}, {"redirect_http", 0.4}, {"redirect_loop", 0.1}, {"redirect_maze", 0.1},
			{"json_other", 0.4}, {"error_200", 0.4}, {"openapi", 0.05}, {"json_comma", 0.1}, {"json_cut", 0.05}, {"large", 0.05},
			{"near", 0.1}, {"version_rejected", 0.05},
			{"close_before", 0.1}, {"close_after", 1}, {"body_shorter", 0.05}, {"stalled_body", 0.03}, {"chunk_cut", 0.05}, {"noise", 0.05},
		},
		sister: 0.8,
	},
	Flat: {
		cards: 0.05,
		faults: []choice{
			{"dns:nxdomain", 0.02}, {"dns:nodata", 0.02}, {"dns:servfail", 0.01}, {"dns:dns_refused", 0.01},
			{"dns:private", 0.01}, {"dns:loopback", 0.01}, {"dns:metadata", 0.01}, {"dns:nat64", 0.01}, {"dns:mapped", 0.01},
			{"link:refused", 0.02}, {"link:black_hole", 0.002},
			{"tls:expired", 0.01}, {"tls:not_yet_valid", 0.01}, {"tls:wrong_name", 0.01}, {"tls:self_signed", 0.01}, {"tls:unknown_ca", 0.01},
			{"tls:alert", 0.01}, {"tls:rsa_kex", 0.01}, {"tls:tls10", 0.01}, {"tls:eof", 0.01}, {"tls:plain_http", 0.01}, {"tls:stall", 0.001},
		},
		moves: []choice{{"none", 5}, {"all", 3}, {"cards", 1}, {"robots", 1}, {"forbidden", 0.5}},
		robots: []choice{
			{"robots_allow", 20}, {"robots_allow_all", 10}, {"robots_named_allow", 5}, {"robots_well_known_allow", 5}, {"not_found", 10}, {"html", 5},
			{"empty", 3}, {"robots_comment", 2}, {"robots_text", 2}, {"robots_binary", 1}, {"forbidden", 4}, {"unauthorized", 2},
			{"robots_disallow", 2}, {"robots_disallow_crlf", 1}, {"robots_well_known", 1}, {"robots_pattern", 1}, {"robots_disallow_named", 2},
			{"robots_disallow_card", 2}, {"robots_disallow_legacy", 2}, {"robots_disallow_card_named", 1}, {"robots_bom", 1}, {"robots_utf16", 1},
			{"robots_cut", 0.2}, {"robots_huge", 0.2}, {"gzip", 1}, {"zstd", 1}, {"gzip_undeclared", 1},
			{"server_error", 1}, {"unavailable", 1}, {"rate_limited", 1}, {"challenge_cloudflare", 1}, {"challenge_imperva", 1}, {"challenge_anubis", 1},
			{"redirect_off_site", 1}, {"redirect_http", 1}, {"redirect_loop", 1}, {"redirect_maze", 1}, {"redirect_home", 2}, {"redirect_missing", 1},
			{"close_before", 1}, {"body_shorter", 1}, {"silent", 0.1}, {"noise", 1}, {"status_999", 1}, {"endless_1xx", 0.3}, {"few_1xx", 1},
		},
		answer: []choice{
			{"not_found", 8}, {"gone", 2}, {"html", 4}, {"empty", 2}, {"soft_text", 2}, {"no_content", 1}, {"forbidden", 2}, {"unauthorized", 2},
			{"payment_required", 3}, {"rate_limited", 3}, {"method_not_allowed", 2}, {"teapot", 1}, {"legal_reasons", 1}, {"multiple_choices", 1},
			{"challenge_cloudflare", 1}, {"challenge_vercel", 1}, {"challenge_aws_waf", 1}, {"challenge_datadome", 1}, {"challenge_siteground", 1}, {"challenge_imperva", 1}, {"challenge_anubis", 1},
			{"server_error", 2}, {"unavailable", 2}, {"near", 4}, {"json_other", 2}, {"json_list", 1}, {"openapi", 1}, {"mcp", 1}, {"wrapped", 1},
			{"json_comma", 2}, {"json_cut", 1}, {"json_trailing", 1}, {"large", 2}, {"version_rejected", 4},
			{"redirect_home", 3}, {"redirect_home_dots", 1}, {"redirect_home_upper", 1}, {"redirect_home_relative", 1}, {"redirect_off_site", 1},
			{"redirect_http", 1}, {"redirect_port", 1}, {"redirect_user_info", 1}, {"redirect_ip", 1}, {"redirect_long", 1}, {"redirect_loop", 1},
			{"redirect_self", 1}, {"redirect_maze", 1}, {"redirect_missing", 1}, {"redirect_empty", 1},
			{"close_before", 1}, {"close_after", 2}, {"until_close", 1}, {"body_longer", 1}, {"body_shorter", 1}, {"chunk_cut", 1}, {"stalled_body", 0.1},
			{"http09", 1}, {"h2_bytes", 1}, {"two_lengths", 1}, {"chunk_size_bad", 1}, {"gzip_broken", 1}, {"length_and_chunked", 1}, {"few_1xx", 1}, {"http10", 1},
		},
		sister: 0.5,
	},
	Plain: {
		cards:  0.003,
		moves:  []choice{{"none", 1}},
		robots: []choice{{"robots_allow", 1}},
		answer: []choice{{"not_found", 1}},
		sister: 1,
	},
}

// open are the robots.txt answers of publishers: they leave the card paths free.
var open = []choice{
	{"robots_allow", 50}, {"robots_allow_all", 10}, {"robots_named_allow", 3}, {"not_found", 25}, {"html", 5}, {"empty", 4}, {"forbidden", 3},
}

// published are the ways to serve a card.
var published = []choice{
	{"card_v1", 12}, {"card_v1_bare", 6}, {"card_v1_signed", 4}, {"card_union", 12}, {"card_v03", 20}, {"card_v02", 8}, {"card_v01", 5},
	{"card_loose", 3}, {"card_no_url", 4}, {"card_no_skills", 4}, {"card_modes_only", 2}, {"card_snake", 4}, {"card_leak", 4},
	{"card_gzip", 4}, {"card_chunked", 4}, {"card_needs_version", 4},
}

// draw fills in what the site of p does.
func (pr *profile) draw(p *plan, c Config) {
	share := pr.cards
	if c.CardShare > 0 {
		share = c.CardShare
	}
	if p.chance("dead") < c.DeadShare {
		p.link = linkBlackHole
		return
	}
	p.move = topologies[pick(pr.moves, p.chance("move"))]
	u := p.chance("publisher")
	if u < share || p.born(u-share, share) {
		p.publish()
		return
	}
	pr.fault(p, c)
	p.robots = p.all[pick(pr.robots, p.chance("robots"))]
	p.card1 = p.all[pick(pr.answer, p.chance("card"))]
	p.card2 = p.card1
	if p.chance("sister") >= pr.sister {
		p.card2 = p.all[pick(pr.answer, p.chance("legacy"))]
	}
}

// fault draws why nobody gets through to the site, if so.
func (pr *profile) fault(p *plan, c Config) {
	u := p.chance("fault")
	for _, f := range pr.faults {
		if u -= f.weight; u >= 0 {
			continue
		}
		kind, name, _ := strings.Cut(f.name, ":")
		switch {
		case kind == "dns":
			p.dns = nameServices[name]
		case kind == "tls":
			p.shake = handshakes[name]
		case links[name] != linkBlackHole || c.DeadShare == 0:
			p.link = links[name]
		}
		return
	}
	if len(pr.faults) == 0 {
		return
	}
	switch p.hash("name service") % 40 { // harmless oddities
	case 0:
		p.dns = nameServices["alias"]
	case 1:
		p.dns = nameServices["mixed"]
	}
}

// born says whether a site without a card at epoch 0 has one by now: a fifth as
// many as the publishers appear within three epochs.
func (p *plan) born(over, share float64) bool {
	birth := 1 + int(p.hash("birth")%3)
	if over < 0 || over >= share/5 || p.epoch < birth {
		return false
	}
	p.change, p.since = "appeared", birth
	return true
}

// publish makes p a site with a card, and what became of it by its epoch.
func (p *plan) publish() {
	if p.move == moveForbidden {
		p.move = moveNone
	}
	p.robots = p.all[pick(open, p.chance("robots"))]
	card := p.all[pick(published, p.chance("template"))]
	p.card1, p.card2 = card, card
	switch u := p.chance("where"); {
	case u < 0.23: // at the legacy path alone
		p.card1 = p.all[[...]string{"not_found", "html", "json_other"}[p.hash("elsewhere")%3]]
	case u < 0.6:
		p.card2 = p.all["not_found"]
	}
	if p.change != "" || p.epoch == 0 {
		return
	}
	since := 1 + int(p.hash("since")%3)
	u := p.chance("change")
	if u < 0.03 && p.hash("down")%4 == uint64(p.epoch%4) {
		p.change, p.since = "down", p.epoch
		p.card1, p.card2 = p.all["unavailable"], p.all["unavailable"]
		return
	}
	if p.epoch < since {
		return
	}
	switch {
	case u < 0.03:
	case u < 0.12:
		p.change = "gone"
		p.card1, p.card2 = p.all["not_found"], p.all["not_found"]
	case u < 0.20:
		p.change = "version"
	case u < 0.26:
		p.change = "body"
	case u < 0.32:
		p.change = "skill_added"
	case u < 0.36:
		p.change = "skill_removed"
	case u < 0.40:
		p.change = "signed"
	}
	p.since = since
	// What this card cannot show as a skill or a signature, its version shows.
	t := card.template
	if p.change == "signed" && !t.signable || strings.HasPrefix(p.change, "skill") && len(t.skills) == 0 {
		p.change = "version"
	}
}

// pick chooses by weight with u from 0 up to 1.
func pick(from []choice, u float64) string {
	total := 0.0
	for _, c := range from {
		total += c.weight
	}
	u *= total
	for _, c := range from {
		if u -= c.weight; u < 0 {
			return c.name
		}
	}
	return from[len(from)-1].name
}
