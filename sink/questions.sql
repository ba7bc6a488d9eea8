-- Questions to paste into DuckDB once views.sql is loaded. They speak of the
-- latest crawl where they do not say otherwise.
--
-- Three questions have no answer here. Whether agent.json says the same as
-- agent-card.json: the second path is only asked when the first gave no card.
-- What kind of site a publisher is: join a list of your own by site. What else
-- it publishes (MCP, llms.txt): the crawler asks for three paths and no more.

-- ? What share of the top 1,000, 10,000, 100,000 and 1,000,000 publishes a card?
SELECT top, sum(cards)::BIGINT AS cards, sum(listed)::BIGINT AS listed, sum(readable)::BIGINT AS readable,
       sum(cards) / nullif(sum(listed), 0) AS share_of_listed, sum(cards) / nullif(sum(readable), 0) AS share_of_readable
FROM adoption, unnest([1000, 10000, 100000, 1000000]) AS t(top)
WHERE latest AND rank_to <= top
GROUP BY top ORDER BY top;

-- ? What did each of the well-known paths answer?
SELECT path, outcome, sum(fetches)::BIGINT AS fetches, sum(fetches) / sum(sum(fetches)) OVER (PARTITION BY path) AS share
FROM fetch_totals WHERE latest
GROUP BY path, outcome ORDER BY path, fetches DESC, outcome;

-- ? What became of the sites: card, near card, other JSON, HTML, 404, blocked, no answer?
SELECT outcome_group, outcome, sum(sites)::BIGINT AS sites, sum(sites) / sum(sum(sites)) OVER () AS share
FROM outcomes WHERE latest
GROUP BY outcome_group, outcome ORDER BY sites DESC, outcome;

-- ? Which A2A versions do cards speak, and how is that known?
SELECT a2a_version, version_source, sum(cards)::BIGINT AS cards
FROM versions WHERE latest
GROUP BY a2a_version, version_source ORDER BY cards DESC, a2a_version, version_source;

-- ? How far has 1.0 come: its share, union cards, and declarations that contradict the shape?
SELECT crawl, sum(supporting_1_0)::BIGINT AS supporting_1_0, sum(supporting_0_3)::BIGINT AS supporting_0_3,
       coalesce(sum(cards) FILTER (card_shape = 'union'), 0)::BIGINT AS union_cards, sum(conflicts)::BIGINT AS conflicts,
       sum(cards)::BIGINT AS cards, sum(supporting_1_0) / sum(cards) AS share_1_0
FROM versions WHERE kind = 'monthly'
GROUP BY crawl ORDER BY crawl;

-- ? Who provides the agents?
SELECT coalesce(provider_organization, '(not stated)') AS provider, count(*) AS cards
FROM latest_cards GROUP BY provider ORDER BY cards DESC, provider LIMIT 50;

-- ? Do agents answer at the site itself or elsewhere?
SELECT host_kind, count(DISTINCT site) AS cards, count(*) AS interfaces
FROM interfaces WHERE latest GROUP BY host_kind ORDER BY cards DESC, host_kind;

-- ? Which platforms host the endpoints?
SELECT coalesce(platform, '(own or other)') AS platform, count(DISTINCT site) AS cards, count(*) AS interfaces
FROM interfaces WHERE latest GROUP BY ALL ORDER BY cards DESC, platform;

-- ? How many skills does a card have?
SELECT min(skills_count) AS fewest, median(skills_count) AS median, max(skills_count) AS most,
       count(*) FILTER (skills_count = 0) AS cards_without, count(*) AS cards
FROM latest_cards;

-- ? Which skill IDs are the most common?
SELECT id, count(DISTINCT site) AS cards FROM skills WHERE latest AND id IS NOT NULL
GROUP BY id ORDER BY cards DESC, id LIMIT 50;

-- ? Which skill tags are the most common?
SELECT tag, count(*) AS cards, sum(skills)::BIGINT AS skills FROM skill_tags WHERE latest
GROUP BY tag ORDER BY cards DESC, skills DESC, tag LIMIT 50;

-- ? Which input and output modes: text, JSON, images?
SELECT direction, mode, cards FROM modes WHERE latest ORDER BY direction, cards DESC, mode;

-- ? Which bindings do cards offer?
SELECT binding, is_core, cards, cards / (SELECT count(*) FROM latest_cards) AS share
FROM bindings WHERE latest ORDER BY cards DESC, binding;

-- ? Which bindings come together?
SELECT list_sort(bindings) AS together, count(*) AS cards
FROM latest_cards GROUP BY together ORDER BY cards DESC, together;

-- ? What can agents do: streaming, push notifications, extended card?
SELECT capability, yes, no, not_stated FROM capabilities WHERE latest ORDER BY capability;

-- ? Which protocol extensions are declared, and which are required?
SELECT uri, count(DISTINCT site) AS cards, count(DISTINCT site) FILTER (required) AS required
FROM extensions WHERE latest GROUP BY uri ORDER BY cards DESC, uri;

-- ? Which authentication do cards declare?
SELECT scheme_type, cards, cards / (SELECT count(*) FROM latest_cards) AS share
FROM schemes WHERE latest ORDER BY cards DESC, scheme_type;

-- ? Is authentication required, optional, or not spoken of?
SELECT coalesce(auth_required, '(not stated)') AS required, count(*) AS cards,
       count(*) FILTER (len(legacy_auth_schemes) > 0) AS with_legacy_block
FROM latest_cards GROUP BY required ORDER BY cards DESC, required;

-- ? Which OAuth flows?
SELECT flow, count(*) AS cards FROM (SELECT unnest(oauth_flows) AS flow FROM latest_cards)
GROUP BY flow ORDER BY cards DESC, flow;

-- ? Where do API keys go?
SELECT location, count(*) AS cards FROM (SELECT unnest(api_key_locations) AS location FROM latest_cards)
GROUP BY location ORDER BY cards DESC, location;

-- ? By which URL scheme are endpoints reached?
SELECT coalesce(url_scheme, '(none)') AS url_scheme, count(DISTINCT site) AS cards, count(*) AS interfaces
FROM interfaces WHERE latest GROUP BY ALL ORDER BY cards DESC, url_scheme;

-- ? How many cards are signed?
SELECT count(*) FILTER (signed) AS signed, count(*) AS cards, count(*) FILTER (signed) / nullif(count(*), 0) AS share
FROM latest_cards;

-- ? With which algorithms, and does the key set lie on the same site?
SELECT alg, coalesce(jku_kind, '(no jku)') AS key_set, count(*) AS signatures, count(*) FILTER (unverifiable) AS unverifiable
FROM signatures WHERE latest GROUP BY alg, key_set ORDER BY signatures DESC, alg, key_set;

-- ? How many cards name documentation and an icon?
SELECT count(documentation_url) AS with_documentation, count(icon_url) AS with_icon, count(*) AS cards FROM latest_cards;

-- ? Which conformance faults are common in each generation?
SELECT card_shape, warning, sum(cards)::BIGINT AS cards FROM warnings WHERE latest
GROUP BY card_shape, warning ORDER BY card_shape, cards DESC, warning;

-- ? Which cards are copies of one template?
SELECT basis, sites, examples FROM template_clones WHERE latest ORDER BY basis, sites DESC, fingerprint;

-- ? Which sites publish a card that still points to localhost or a placeholder?
SELECT site, url, host_kind FROM interfaces
WHERE latest AND host_kind IN ('loopback', 'private', 'placeholder', 'empty', 'invalid') ORDER BY rank, position;

-- ? Can a reader tell cheaply that a card has not changed, and how big are cards?
SELECT count(etag) AS with_etag, count(cache_control) AS with_cache_control, count(last_modified) AS with_last_modified,
       median(body_bytes) AS median_bytes, max(body_bytes) AS largest_bytes, count(*) AS cards
FROM latest_cards;

-- ? Whom do robots.txt and bot walls keep out?
SELECT kept_out_by, outcome, reason, sum(sites)::BIGINT AS sites FROM kept_out WHERE latest
GROUP BY kept_out_by, outcome, reason ORDER BY sites DESC, outcome, reason;

-- ? How many publishers answer, week by week?
SELECT crawl, publishers, up, down, unknown, skipped, up_share FROM uptime ORDER BY crawl;

-- ? Who came and who went since the crawl before?
SELECT kind, crawl, previous_crawl, appeared, gone, kept, body_changed, canonical_changed, a2a_version_changed
FROM churn ORDER BY crawl, kind;

-- ? How does the census develop from crawl to crawl?
SELECT kind, crawl, listed, cards, share_of_listed, share_of_readable, supporting_1_0, signed FROM trend ORDER BY crawl, kind;
