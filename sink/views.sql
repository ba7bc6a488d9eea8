-- What the analyst's views say, over the tables read above.
--
-- Every view has the columns kind and crawl; most have latest, which is true for
-- the newest monthly crawl (for the newest crawl of another kind while there is
-- no monthly one). Views without latest compare crawls.
-- Shares are fractions from 0 to 1, NULL where there is nothing to share.

-- The public name behind a host: the platform's suffix, NULL for one's own name.
CREATE OR REPLACE MACRO platform(host) AS nullif(regexp_extract(host,
    '(?:^|\.)(run\.app|vercel\.app|workers\.dev|pages\.dev|railway\.app|onrender\.com|fly\.dev|herokuapp\.com|netlify\.app|azurewebsites\.net|azurecontainerapps\.io|azure-api\.net|amazonaws\.com|on\.aws|awsapprunner\.com|cloudfront\.net|github\.io|replit\.app|replit\.dev|hf\.space|deno\.dev|supabase\.co|ngrok-free\.app|ngrok-free\.dev|ngrok\.app|ngrok\.io|web\.app|firebaseapp\.com|appspot\.com|cloudfunctions\.net|lovable\.app|modal\.run|koyeb\.app|ondigitalocean\.app|trycloudflare\.com)(?::[0-9]+)?$', 1), '');

CREATE OR REPLACE MACRO outcome_group(outcome) AS CASE
    WHEN outcome = 'card' THEN 'published'
    WHEN outcome IN ('robots_disallowed', 'robots_unreachable', 'robots_unreadable', 'opted_out') THEN 'kept out'
    WHEN outcome IN ('dns_not_found', 'dns_no_address', 'dns_error', 'private_address', 'connect_refused', 'timeout',
                     'connection_lost', 'tls_certificate', 'tls_handshake', 'protocol_error') THEN 'no answer'
    WHEN outcome IN ('invalid_name', 'duplicate', 'interrupted') THEN 'ours'
    ELSE 'answered' END;

-- The cards of the latest crawl.
CREATE OR REPLACE VIEW latest_cards AS
SELECT * FROM cards WHERE latest;

-- One row a skill; position counts from 1 in the card's order.
CREATE OR REPLACE VIEW skills AS
SELECT kind, crawl, latest, rank, site, position, skill.id, skill.name, skill.tags
FROM (SELECT kind, crawl, latest, rank, site, unnest(skills) AS skill, generate_subscripts(skills, 1) AS position FROM cards);

-- One row a card and tag, lower case: how many of its skills carry the tag.
CREATE OR REPLACE VIEW skill_tags AS
SELECT kind, crawl, latest, rank, site, tag, count(*) AS skills
FROM (SELECT kind, crawl, latest, rank, site, position, unnest(list_distinct(list_transform(tags, lambda t: lower(trim(t))))) AS tag FROM skills)
WHERE tag <> ''
GROUP BY ALL;

-- One row an endpoint.
CREATE OR REPLACE VIEW interfaces AS
SELECT kind, crawl, latest, rank, site, position, unnest(interface), platform(interface.host) AS platform,
       nullif(lower(regexp_extract(interface.url, '^([A-Za-z][A-Za-z0-9+.-]*)://', 1)), '') AS url_scheme
FROM (SELECT kind, crawl, latest, rank, site, unnest(interfaces) AS interface, generate_subscripts(interfaces, 1) AS position FROM cards);

-- One row a declared security scheme.
CREATE OR REPLACE VIEW security_schemes AS
SELECT kind, crawl, latest, rank, site, position, unnest(scheme)
FROM (SELECT kind, crawl, latest, rank, site, unnest(security_schemes) AS scheme, generate_subscripts(security_schemes, 1) AS position FROM cards);

-- One row a signature as declared; nothing is verified.
CREATE OR REPLACE VIEW signatures AS
SELECT kind, crawl, latest, rank, site, position, unnest(signature)
FROM (SELECT kind, crawl, latest, rank, site, unnest(signatures) AS signature, generate_subscripts(signatures, 1) AS position FROM cards);

-- One row a declared protocol extension.
CREATE OR REPLACE VIEW extensions AS
SELECT kind, crawl, latest, rank, site, position, unnest(extension)
FROM (SELECT kind, crawl, latest, rank, site, unnest(extensions) AS extension, generate_subscripts(extensions, 1) AS position FROM cards);

-- Who publishes a card, by rank range. listed: entries that name a site once.
-- readable: sites whose answer says whether there is a card. A weekly crawl asks
-- publishers only and has no such share.
CREATE OR REPLACE VIEW adoption AS
SELECT *, cards / nullif(listed, 0) AS share_of_listed, cards / nullif(readable, 0) AS share_of_readable
FROM (SELECT kind, crawl, latest, rank_from, rank_to,
             coalesce(sum(sites) FILTER (outcome = 'card'), 0)::BIGINT AS cards,
             coalesce(sum(sites) FILTER (outcome NOT IN ('invalid_name', 'duplicate')), 0)::BIGINT AS listed,
             coalesce(sum(sites) FILTER (outcome IN ('card', 'near_card', 'not_a_card', 'invalid_json', 'too_large',
                                                     'soft_404', 'not_found', 'client_error')), 0)::BIGINT AS readable
      FROM site_totals WHERE kind <> 'weekly' GROUP BY ALL);

-- A2A versions, what they rest on, and the shape beside them.
CREATE OR REPLACE VIEW versions AS
SELECT kind, crawl, latest, a2a_version, version_source, card_shape, count(*) AS cards,
       count(*) FILTER (version_conflict) AS conflicts, count(*) FILTER (supports_1_0) AS supporting_1_0, count(*) FILTER (supports_0_3) AS supporting_0_3
FROM cards GROUP BY ALL;

-- Bindings by the cards that offer them; a card with several counts under each.
CREATE OR REPLACE VIEW bindings AS
SELECT kind, crawl, latest, coalesce(nullif(binding, ''), '(none)') AS binding,
       binding IN ('JSONRPC', 'GRPC', 'HTTP+JSON') AS is_core,
       count(DISTINCT site) AS cards, count(*) AS interfaces
FROM interfaces GROUP BY ALL;

-- Security scheme types by the cards that declare them; '(none declared)' for
-- the rest.
CREATE OR REPLACE VIEW schemes AS
SELECT kind, crawl, latest, scheme_type, count(*) AS cards
FROM (SELECT kind, crawl, latest, unnest(if(len(auth_scheme_types) = 0, ['(none declared)'], auth_scheme_types)) AS scheme_type FROM cards)
GROUP BY ALL;

-- Where endpoints live: relation to the site, and platform if it is a known one.
-- A card with endpoints in several rows counts in each: do not add them up.
CREATE OR REPLACE VIEW hosting AS
SELECT kind, crawl, latest, host_kind, coalesce(platform, '(own or other)') AS platform,
       count(DISTINCT site) AS cards, count(*) AS interfaces
FROM interfaces GROUP BY ALL;

-- Cards that several sites share: basis canonical (the same content) or skills
-- (the same set of skill IDs, else names).
CREATE OR REPLACE VIEW template_clones AS
SELECT kind, crawl, latest, basis, fingerprint, count(*) AS sites, list(site ORDER BY rank)[:5] AS examples
FROM (SELECT kind, crawl, latest, rank, site, 'canonical' AS basis, canonical_sha256 AS fingerprint FROM cards
      UNION ALL
      SELECT kind, crawl, latest, rank, site, 'skills', md5(to_json(named)::VARCHAR)
      FROM (SELECT kind, crawl, latest, rank, site,
                   list_sort(list_distinct(list_transform(skills, lambda s: coalesce(s.id, s.name)))) AS named FROM cards)
      WHERE len(named) > 0)
GROUP BY ALL HAVING count(*) > 1;

-- Capabilities: what cards state, and how many state nothing.
CREATE OR REPLACE VIEW capabilities AS
SELECT kind, crawl, latest, capability, count(*) FILTER (stated) AS yes, count(*) FILTER (NOT stated) AS no,
       count(*) FILTER (stated IS NULL) AS not_stated
FROM (SELECT kind, crawl, latest,
             unnest(['streaming', 'push_notifications', 'state_transition_history', 'extended_card']) AS capability,
             unnest([streaming, push_notifications, state_transition_history, extended_card]) AS stated
      FROM cards)
GROUP BY ALL;

-- Input and output modes by the cards that list them.
CREATE OR REPLACE VIEW modes AS
SELECT kind, crawl, latest, direction, mode, count(*) AS cards
FROM (SELECT kind, crawl, latest, site, 'input' AS direction, unnest(list_distinct(input_modes)) AS mode FROM cards
      UNION ALL
      SELECT kind, crawl, latest, site, 'output', unnest(list_distinct(output_modes)) FROM cards)
GROUP BY ALL;

-- Conformance codes by generation of card.
CREATE OR REPLACE VIEW warnings AS
SELECT kind, crawl, latest, a2a_version, card_shape, warning, count(*) AS cards
FROM (SELECT kind, crawl, latest, a2a_version, card_shape, unnest(warnings) AS warning FROM cards)
GROUP BY ALL;

-- What became of the list entries.
CREATE OR REPLACE VIEW outcomes AS
SELECT kind, crawl, latest, rank_from, rank_to, outcome_group(outcome) AS outcome_group, outcome, sum(sites)::BIGINT AS sites
FROM site_totals GROUP BY ALL;

-- Sites that could not be read because robots.txt, its owner or a bot wall said so.
CREATE OR REPLACE VIEW kept_out AS
SELECT kind, crawl, latest, rank_from, rank_to,
       CASE outcome WHEN 'opted_out' THEN 'owner' WHEN 'challenged' THEN 'bot wall' ELSE 'robots.txt' END AS kept_out_by,
       outcome, reason, sum(sites)::BIGINT AS sites
FROM site_totals
WHERE outcome IN ('robots_disallowed', 'robots_unreachable', 'robots_unreadable', 'opted_out', 'challenged')
GROUP BY ALL;

-- Publishers by status of a weekly crawl. up says only that a public address
-- answered. up_share leaves out what nobody knows.
CREATE OR REPLACE VIEW uptime AS
SELECT *, up / nullif(up + down, 0) AS up_share
FROM (SELECT kind, crawl, count(*) AS publishers, count(*) FILTER (status = 'up') AS up, count(*) FILTER (status = 'down') AS down,
             count(*) FILTER (status = 'unknown') AS unknown, count(*) FILTER (status = 'skipped') AS skipped,
             median(latency_ms) FILTER (status = 'up') AS median_latency_ms
      FROM checks GROUP BY ALL);

-- The same by publisher, over all weekly crawls.
CREATE OR REPLACE VIEW site_uptime AS
SELECT *, up / nullif(up + down, 0) AS up_share
FROM (SELECT site, count(*) AS checks, count(*) FILTER (status = 'up') AS up, count(*) FILTER (status = 'down') AS down,
             count(*) FILTER (status IN ('unknown', 'skipped')) AS unknown,
             max(checked_at) FILTER (status = 'up') AS last_up, max_by(status, crawl) AS last_status
      FROM checks GROUP BY ALL);

-- What came and went since the crawl before: for monthly crawls by the cards of
-- two months (gone may mean unreachable that day), for weekly ones by what an
-- HTTP answer decided. kept: a card before and now.
CREATE OR REPLACE VIEW churn AS
WITH months AS (
    SELECT kind, crawl, lag(crawl) OVER (ORDER BY crawl) AS previous_crawl FROM crawls WHERE kind = 'monthly'
), publishers AS (
    SELECT m.crawl, m.previous_crawl, c.site, any_value(c) FILTER (c.crawl = m.crawl) AS now,
           any_value(c) FILTER (c.crawl = m.previous_crawl) AS before
    FROM months m JOIN (SELECT crawl, site, body_sha256, canonical_sha256, a2a_version FROM cards WHERE kind = 'monthly') c
      ON c.crawl = m.crawl OR c.crawl = m.previous_crawl
    GROUP BY ALL
)
SELECT m.kind, m.crawl, m.previous_crawl,
       count(*) FILTER (p.before IS NULL AND p.now IS NOT NULL) AS appeared,
       count(*) FILTER (p.now IS NULL AND p.before IS NOT NULL) AS gone,
       count(*) FILTER (p.now IS NOT NULL AND p.before IS NOT NULL) AS kept,
       count(*) FILTER (p.now.body_sha256 <> p.before.body_sha256) AS body_changed,
       count(*) FILTER (p.now.canonical_sha256 <> p.before.canonical_sha256) AS canonical_changed,
       count(*) FILTER (p.now.a2a_version <> p.before.a2a_version) AS a2a_version_changed
FROM months m LEFT JOIN publishers p ON p.crawl = m.crawl
WHERE m.previous_crawl IS NOT NULL
GROUP BY ALL
UNION ALL
SELECT kind, crawl, max(previous_crawl), count(*) FILTER (card_appeared), count(*) FILTER (card_gone), count(body_changed),
       count(*) FILTER (body_changed), count(*) FILTER (canonical_changed), count(*) FILTER (a2a_version_changed)
FROM checks GROUP BY ALL;

-- One row a crawl of a list: how the census develops.
CREATE OR REPLACE VIEW trend AS
SELECT c.kind, c.crawl, c.latest, c.entries, coalesce(a.listed, 0) AS listed, coalesce(a.readable, 0) AS readable, c.cards,
       c.cards / nullif(a.listed, 0) AS share_of_listed, c.cards / nullif(a.readable, 0) AS share_of_readable,
       coalesce(k.supporting_1_0, 0) AS supporting_1_0, coalesce(k.signed, 0) AS signed,
       coalesce(k.with_schemes, 0) AS with_schemes, c.requests
FROM crawls c
LEFT JOIN (SELECT kind, crawl, sum(listed)::BIGINT AS listed, sum(readable)::BIGINT AS readable FROM adoption GROUP BY ALL) a USING (kind, crawl)
LEFT JOIN (SELECT kind, crawl, count(*) FILTER (supports_1_0) AS supporting_1_0, count(*) FILTER (signed) AS signed,
                  count(*) FILTER (len(security_schemes) > 0) AS with_schemes FROM cards GROUP BY ALL) k USING (kind, crawl)
WHERE c.kind <> 'weekly';
