package main

// An exhibit is one question of the report: a query over the views, and the
// picture that is drawn of its rows.
type exhibit struct {
	id, title string
	note      string // what is counted, out of what, and what it does not say
	sql       string // one SELECT without a semicolon
	picture   picture
}

// picture says which columns of an exhibit's rows become a chart.
type picture struct {
	shape  shape
	labels []string // columns that name a row, from the left
	values []value
	// split, if set, is the column by which bars get a colour and a name in the
	// legend; there is one value then.
	split string
	axis  string
	most  int // rows drawn, of the first (of time: of the last); 0: all
	least int // rows without which nothing can be drawn, 0: 1
	few   string
}

// value is one series of a picture.
type value struct {
	column, name string
	colour       int
}

// chapter holds the exhibits of one subject.
type chapter struct {
	id, title string
	exhibits  []exhibit
}

// The colours of series that mean the same in every picture.
const (
	blue = iota
	orange
	teal
	purple
	grey
)

// headlineSQL gives the one row that the report opens with. Of a weekly crawl,
// which asks publishers only, there are no shares of a list.
const headlineSQL = `SELECT c.kind, c.crawl, c.cards, a.listed, a.readable, c.cards / nullif(a.listed, 0) AS share_of_listed,
       c.cards / nullif(a.readable, 0) AS share_of_readable,
       k.described, k.supporting_1_0, k.supporting_1_0 / nullif(k.described, 0) AS share_1_0,
       k.signed, k.signed / nullif(k.described, 0) AS share_signed,
       k.with_schemes, k.with_schemes / nullif(k.described, 0) AS share_with_schemes,
       n.previous_crawl, n.appeared, n.gone,
       u.crawl AS week, u.publishers, u.up, u.down, u.up_share AS share_up
FROM crawls c
LEFT JOIN (SELECT sum(listed)::BIGINT AS listed, sum(readable)::BIGINT AS readable FROM adoption WHERE latest) a ON true
LEFT JOIN (SELECT count(*) AS described, count(*) FILTER (supports_1_0) AS supporting_1_0, count(*) FILTER (signed) AS signed,
                  count(*) FILTER (len(auth_scheme_types) > 0) AS with_schemes FROM latest_cards) k ON true
LEFT JOIN churn n ON n.kind = c.kind AND n.crawl = c.crawl
LEFT JOIN (SELECT * FROM uptime ORDER BY crawl DESC LIMIT 1) u ON true
WHERE c.latest`

// chapters are the whole report, in its order.
var chapters = []chapter{
	{"adoption", "Adoption", []exhibit{adoptionByRank, adoptionInTop, trendOfCards, trendOfShares}},
	{"protocol", "Protocol", []exhibit{versions, cardShapes, bindings, capabilities}},
	{"access", "Access and trust", []exhibit{authSchemes, authRequired, signing, signatureAlgorithms}},
	{"endpoints", "Endpoints and skills", []exhibit{hostKinds, hostDomains, skillTags, skillCounts}},
	{"answers", "What sites answered", []exhibit{outcomes, keptOut, robotsAnswers, cardAnswers, warnings}},
	{"weeks", "Week by week", []exhibit{uptime, churn}},
}

var adoptionByRank = exhibit{
	id: "adoption-by-rank", title: "Who publishes a card, by rank",
	note: "Listed: entries of the list that name a site once. Readable: of those, sites whose answer says whether there is a card; " +
		"sites that were kept out, blocked, or did not answer are not among them.",
	sql: `SELECT rank_from, rank_to, cards, listed, readable, share_of_listed, share_of_readable
FROM adoption WHERE latest ORDER BY rank_from`,
	picture: picture{shape: bars, labels: []string{"rank_from", "rank_to"}, axis: "share of sites that publish a card",
		values: []value{{"share_of_readable", "of readable sites", blue}, {"share_of_listed", "of listed sites", orange}}},
}

var adoptionInTop = exhibit{
	id: "adoption-in-top", title: "Who publishes a card, among the top",
	note: "The same, from rank 1 on. A row that reaches beyond the end of the list covers the list.",
	sql: `SELECT top, sum(cards)::BIGINT AS cards, sum(listed)::BIGINT AS listed, sum(readable)::BIGINT AS readable,
       sum(cards) / nullif(sum(listed), 0) AS share_of_listed, sum(cards) / nullif(sum(readable), 0) AS share_of_readable
FROM adoption, unnest([1000, 10000, 100000, 1000000]) AS t(top)
WHERE latest AND rank_to <= top GROUP BY top ORDER BY top`,
	picture: picture{shape: bars, labels: []string{"top"}, axis: "share of sites that publish a card",
		values: []value{{"share_of_readable", "of readable sites", blue}, {"share_of_listed", "of listed sites", orange}}},
}

// oneCrawl is what a trend says when there is nothing to compare.
const oneCrawl = "A trend needs two crawls of a list of one kind; so far there is one."

const trendSQL = `SELECT crawl, listed, readable, cards, supporting_1_0, signed, with_schemes, share_of_listed, share_of_readable, requests
FROM trend WHERE kind = (SELECT kind FROM crawls WHERE latest) ORDER BY crawl`

var trendOfCards = exhibit{
	id: "trend-of-cards", title: "Cards from crawl to crawl",
	note: "Crawls of the same kind as the latest. Supporting 1.0, signed and with security schemes are parts of the cards.",
	sql:  trendSQL,
	picture: picture{shape: lines, labels: []string{"crawl"}, axis: "cards", least: 2, few: oneCrawl, most: 36,
		values: []value{{"cards", "cards", blue}, {"supporting_1_0", "supporting 1.0", orange}, {"with_schemes", "with schemes", teal}, {"signed", "signed", purple}}},
}

var trendOfShares = exhibit{
	id: "trend-of-shares", title: "Share of sites from crawl to crawl",
	note: "The list changes from crawl to crawl, and so do its listed and readable sites.",
	sql:  trendSQL,
	picture: picture{shape: lines, labels: []string{"crawl"}, axis: "share of sites that publish a card", least: 2, few: oneCrawl, most: 36,
		values: []value{{"share_of_readable", "of readable sites", blue}, {"share_of_listed", "of listed sites", orange}}},
}

var versions = exhibit{
	id: "versions", title: "A2A versions",
	note: "The highest version a card declares; where it declares none, the version that its fields point to. The path says nothing of the version.",
	sql: `SELECT a2a_version, coalesce(sum(cards) FILTER (version_source IN ('interface', 'card', 'card_list')), 0)::BIGINT AS declared,
       coalesce(sum(cards) FILTER (version_source = 'shape'), 0)::BIGINT AS by_its_fields,
       coalesce(sum(cards) FILTER (version_source = 'none'), 0)::BIGINT AS not_known,
       sum(cards)::BIGINT AS cards, sum(cards) / sum(sum(cards)) OVER () AS share
FROM versions WHERE latest GROUP BY a2a_version ORDER BY cards DESC, a2a_version`,
	picture: picture{shape: stacked, labels: []string{"a2a_version"}, axis: "cards", most: 20,
		values: []value{{"declared", "declared", blue}, {"by_its_fields", "by its fields", orange}, {"not_known", "not known", grey}}},
}

var cardShapes = exhibit{
	id: "card-shapes", title: "Generations, and declarations that contradict them",
	note: "The generation by the fields present; a union card serves clients of both. In conflict: the declared version cannot have that shape.",
	sql: `SELECT card_shape, (sum(cards) - sum(conflicts))::BIGINT AS consistent, sum(conflicts)::BIGINT AS in_conflict, sum(cards)::BIGINT AS cards,
       sum(supporting_1_0)::BIGINT AS supporting_1_0, sum(supporting_0_3)::BIGINT AS supporting_0_3
FROM versions WHERE latest GROUP BY card_shape ORDER BY card_shape`,
	picture: picture{shape: stacked, labels: []string{"card_shape"}, axis: "cards",
		values: []value{{"consistent", "consistent", blue}, {"in_conflict", "in conflict", orange}}},
}

var bindings = exhibit{
	id: "bindings", title: "Protocol bindings",
	note: "A card with several bindings counts under each. Core bindings are those that the specification names.",
	sql: `SELECT binding, if(is_core, 'core', 'custom') AS kind_of_binding, cards, interfaces,
       cards / (SELECT count(*) FROM latest_cards) AS share
FROM bindings WHERE latest ORDER BY cards DESC, binding LIMIT 50`,
	picture: picture{shape: stacked, labels: []string{"binding"}, split: "kind_of_binding", axis: "cards", most: 15,
		values: []value{{column: "cards"}}},
}

var capabilities = exhibit{
	id: "capabilities", title: "Capabilities",
	note: "What cards say of themselves; nothing was tried. Not stated differs from no.",
	sql:  `SELECT capability, yes, no, not_stated, yes + no + not_stated AS cards FROM capabilities WHERE latest ORDER BY yes DESC, capability`,
	picture: picture{shape: stacked, labels: []string{"capability"}, axis: "cards",
		values: []value{{"yes", "yes", blue}, {"no", "no", orange}, {"not_stated", "not stated", grey}}},
}

var authSchemes = exhibit{
	id: "auth-schemes", title: "Authentication schemes",
	note: "Types of the declared security schemes; a card with several types counts under each.",
	sql: `SELECT scheme_type, cards, cards / (SELECT count(*) FROM latest_cards) AS share
FROM schemes WHERE latest ORDER BY cards DESC, scheme_type`,
	picture: picture{shape: bars, labels: []string{"scheme_type"}, axis: "cards", values: []value{{"cards", "cards", blue}}},
}

var authRequired = exhibit{
	id: "auth-required", title: "Is authentication required?",
	note: "Optional: anonymous access is one of the alternatives. Not stated does not mean that none is needed.",
	sql: `SELECT coalesce(auth_required, '(not stated)') AS authentication, count(*) AS cards, count(*) / sum(count(*)) OVER () AS share,
       count(*) FILTER (len(legacy_auth_schemes) > 0) AS with_0_1_block
FROM latest_cards GROUP BY ALL ORDER BY cards DESC, authentication`,
	picture: picture{shape: bars, labels: []string{"authentication"}, axis: "cards", values: []value{{"cards", "cards", blue}}},
}

var signing = exhibit{
	id: "signing", title: "Signed cards",
	note: "Signed: at least one signature is well formed. No signature was verified.",
	sql: `SELECT CASE WHEN signed THEN 'signed' WHEN signatures_count > 0 THEN 'malformed signatures only' ELSE 'not signed' END AS signing,
       count(*) AS cards, count(*) / sum(count(*)) OVER () AS share
FROM latest_cards GROUP BY ALL ORDER BY cards DESC, signing`,
	picture: picture{shape: bars, labels: []string{"signing"}, axis: "cards", values: []value{{"cards", "cards", blue}}},
}

var signatureAlgorithms = exhibit{
	id: "signature-algorithms", title: "Signature algorithms and where the keys are",
	note: "Key set: the host of the signature's key set URL as seen from the site. Unverifiable: no algorithm, or a shared secret.",
	sql: `SELECT coalesce(alg, '(none named)') AS algorithm, coalesce(jku_kind, '(no key set URL)') AS key_set,
       count(*) AS signatures, count(*) FILTER (unverifiable) AS unverifiable
FROM signatures WHERE latest GROUP BY ALL ORDER BY signatures DESC, algorithm, key_set LIMIT 50`,
	picture: picture{shape: bars, labels: []string{"algorithm", "key_set"}, axis: "signatures", most: 15,
		values: []value{{"signatures", "signatures", blue}}},
}

var hostKinds = exhibit{
	id: "host-kinds", title: "Where endpoints are, as seen from the site",
	note: "The host of each interface; a card with several kinds counts under each. Loopback, private, placeholder, empty and invalid are of no use to a client.",
	sql: `SELECT host_kind, count(DISTINCT site) AS cards, count(*) AS interfaces,
       count(DISTINCT site) / (SELECT count(*) FROM latest_cards) AS share
FROM interfaces WHERE latest GROUP BY host_kind ORDER BY cards DESC, host_kind`,
	picture: picture{shape: bars, labels: []string{"host_kind"}, axis: "cards", values: []value{{"cards", "cards", blue}}},
}

var hostDomains = exhibit{
	id: "host-domains", title: "Who hosts the endpoints that are elsewhere",
	note: "Registrable domains of the interface hosts on another site; tenants of a platform count for the platform. " +
		"The function registrable_domain belongs to agentcensus-report; in DuckDB itself take platform, a column of interfaces.",
	sql: `SELECT registrable_domain(host) AS domain, count(DISTINCT site) AS cards, count(*) AS interfaces
FROM interfaces WHERE latest AND host_kind = 'other_site' AND host IS NOT NULL
GROUP BY domain ORDER BY cards DESC, interfaces DESC, domain LIMIT 50`,
	picture: picture{shape: bars, labels: []string{"domain"}, axis: "cards", most: 20, values: []value{{"cards", "cards", blue}}},
}

var skillTags = exhibit{
	id: "skill-tags", title: "The biggest skill tags",
	note: "Tags in lower case, by the cards that carry them on any skill.",
	sql: `SELECT tag, count(*) AS cards, sum(skills)::BIGINT AS skills, count(*) / (SELECT count(*) FROM latest_cards) AS share
FROM skill_tags WHERE latest GROUP BY tag ORDER BY cards DESC, skills DESC, tag LIMIT 50`,
	picture: picture{shape: bars, labels: []string{"tag"}, axis: "cards", most: 20, values: []value{{"cards", "cards", blue}}},
}

var skillCounts = exhibit{
	id: "skill-counts", title: "Skills per card",
	note: "Entries of the skills array, odd ones included.",
	sql: `SELECT skills, count(*) AS cards, count(*) / sum(count(*)) OVER () AS share
FROM (SELECT CASE WHEN skills_count = 0 THEN '0' WHEN skills_count = 1 THEN '1' WHEN skills_count <= 3 THEN '2–3'
                  WHEN skills_count <= 10 THEN '4–10' WHEN skills_count <= 30 THEN '11–30' ELSE 'over 30' END AS skills, skills_count
      FROM latest_cards)
GROUP BY skills ORDER BY min(skills_count)`,
	picture: picture{shape: bars, labels: []string{"skills"}, axis: "cards", values: []value{{"cards", "cards", blue}}},
}

var outcomes = exhibit{
	id: "outcomes", title: "What became of the list entries",
	note: "Every entry has one outcome; together they are the list. Ours: names that cannot be asked, repeated ones, and interruptions.",
	sql: `SELECT outcome_group, outcome, sum(sites)::BIGINT AS sites, sum(sites) / sum(sum(sites)) OVER () AS share
FROM outcomes WHERE latest GROUP BY outcome_group, outcome ORDER BY sites DESC, outcome`,
	picture: picture{shape: stacked, labels: []string{"outcome"}, split: "outcome_group", axis: "list entries",
		values: []value{{column: "sites"}}},
}

var keptOut = exhibit{
	id: "kept-out", title: "Kept out by robots.txt, bot walls and owners",
	note: "Sites that were not read because robots.txt said so or could not be read, a bot wall stood before them, or the owner opted out.",
	sql: `SELECT kept_out_by, outcome, reason, sum(sites)::BIGINT AS sites, sum(sites) / (SELECT sum(sites) FROM outcomes WHERE latest) AS share_of_entries
FROM kept_out WHERE latest GROUP BY kept_out_by, outcome, reason ORDER BY sites DESC, outcome, reason`,
	picture: picture{shape: stacked, labels: []string{"outcome", "reason"}, split: "kept_out_by", axis: "list entries", most: 15,
		values: []value{{column: "sites"}}},
}

var robotsAnswers = exhibit{
	id: "robots-answers", title: "How /robots.txt was answered",
	note: "Rules: a file with at least one line of a robots.txt. No rules: an empty file, a page, or a 4xx answer, which all allow.",
	sql: `SELECT outcome, sum(fetches)::BIGINT AS fetches, sum(fetches) / sum(sum(fetches)) OVER () AS share
FROM fetch_totals WHERE latest AND path = '/robots.txt' GROUP BY outcome ORDER BY fetches DESC, outcome`,
	picture: picture{shape: bars, labels: []string{"outcome"}, axis: "fetches", values: []value{{"fetches", "fetches", blue}}},
}

var cardAnswers = exhibit{
	id: "card-answers", title: "How the card paths were answered",
	note: "agent.json is asked only where agent-card.json was answered without a card or was disallowed.",
	sql: `SELECT outcome, coalesce(sum(fetches) FILTER (path = '/.well-known/agent-card.json'), 0)::BIGINT AS agent_card_json,
       coalesce(sum(fetches) FILTER (path = '/.well-known/agent.json'), 0)::BIGINT AS agent_json
FROM fetch_totals WHERE latest AND path <> '/robots.txt' GROUP BY outcome ORDER BY sum(fetches) DESC, outcome`,
	picture: picture{shape: bars, labels: []string{"outcome"}, axis: "fetches",
		values: []value{{"agent_card_json", "agent-card.json", blue}, {"agent_json", "agent.json", orange}}},
}

var warnings = exhibit{
	id: "warnings", title: "Conformance warnings",
	note: "Cards with a deviation from the specification of their own generation; a card counts once under each warning.",
	sql: `SELECT warning, coalesce(sum(cards) FILTER (card_shape = '0.x'), 0)::BIGINT AS shape_0_x,
       coalesce(sum(cards) FILTER (card_shape = '1.x'), 0)::BIGINT AS shape_1_x,
       coalesce(sum(cards) FILTER (card_shape = 'union'), 0)::BIGINT AS shape_union,
       sum(cards)::BIGINT AS cards, sum(cards) / (SELECT count(*) FROM latest_cards) AS share
FROM warnings WHERE latest GROUP BY warning ORDER BY cards DESC, warning LIMIT 50`,
	picture: picture{shape: stacked, labels: []string{"warning"}, axis: "cards", most: 20,
		values: []value{{"shape_0_x", "0.x", blue}, {"shape_1_x", "1.x", orange}, {"shape_union", "union", teal}}},
}

var uptime = exhibit{
	id: "uptime", title: "Do publishers answer?",
	note: "Up means only that a public address answered, whatever it said; not that the agent works. Unknown: nothing proved either, after a timeout for example. " +
		"Skipped: robots.txt keeps the bot out. The share up leaves both out.",
	sql: `SELECT crawl, publishers, up, down, unknown, skipped, up_share AS share_up, median_latency_ms FROM uptime ORDER BY crawl`,
	picture: picture{shape: columns, labels: []string{"crawl"}, axis: "publishers", most: 26, few: "There is no weekly crawl yet: 'agentcensus recheck' makes one.",
		values: []value{{"up", "up", blue}, {"down", "down", orange}, {"unknown", "unknown", grey}, {"skipped", "skipped", purple}}},
}

var churn = exhibit{
	id: "churn", title: "Who came, went and changed since the crawl before",
	note: "Monthly: cards of two months compared; gone may mean unreachable that day. Weekly: only what an HTTP answer decided. " +
		"Changed: other bytes; the content changed where the canonical form did, layout and signatures apart.",
	sql: `SELECT crawl, kind, previous_crawl, appeared AS "new", gone, kept, body_changed AS changed, canonical_changed AS content_changed, a2a_version_changed
FROM churn ORDER BY crawl, kind`,
	picture: picture{shape: bars, labels: []string{"crawl", "kind"}, axis: "publishers", most: 8,
		few:    "Nothing to compare yet: two monthly crawls, or a weekly one after a monthly one, are needed.",
		values: []value{{"new", "new", blue}, {"gone", "gone", orange}, {"changed", "changed", teal}}},
}
