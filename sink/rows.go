package sink

// SiteTotal is a row of the table site_totals: how many entries of one rank
// range ended in one way. The sums over a crawl equal its list.
type SiteTotal struct {
	RankFrom int64  `parquet:"rank_from" doc:"first rank of the range"`
	RankTo   int64  `parquet:"rank_to" doc:"last rank of the range"`
	Outcome  string `parquet:"outcome,dict" doc:"how the entries ended"`
	Reason   string `parquet:"reason,dict" doc:"short code that says more; empty when there is nothing to say"`
	Sites    int64  `parquet:"sites" doc:"number of list entries"`
}

// FetchTotal is a row of the table fetch_totals: how many fetches of one path
// ended in one way, by rank range, and what they cost.
type FetchTotal struct {
	RankFrom   int64  `parquet:"rank_from" doc:"first rank of the range"`
	RankTo     int64  `parquet:"rank_to" doc:"last rank of the range"`
	Path       string `parquet:"path,dict" doc:"path of the three, as first asked"`
	Outcome    string `parquet:"outcome,dict" doc:"how the fetches ended; for /robots.txt also rules and no_rules"`
	Reason     string `parquet:"reason,dict" doc:"short code that says more; empty when there is nothing to say"`
	HTTPStatus *int32 `parquet:"http_status,optional" doc:"status code of the last request; NULL without an HTTP answer"`
	Fetches    int64  `parquet:"fetches" doc:"number of fetches"`
	Requests   int64  `parquet:"requests" doc:"requests sent, redirects included"`
	BodyBytes  int64  `parquet:"body_bytes" doc:"bytes of body read, after content decoding"`
	ElapsedMS  int64  `parquet:"elapsed_ms" doc:"milliseconds spent in requests"`
}

// Check is a row of the table checks: what a weekly crawl found at one
// publisher of the latest complete monthly crawl, and what changed since the
// crawl before. A change is stated only where an HTTP answer decided it; NULL
// means that nobody knows.
type Check struct {
	Rank      int64    `parquet:"rank" doc:"position of the site in the monthly crawl's list"`
	Site      string   `parquet:"site" doc:"the publisher: a lower-case A-label name"`
	Status    string   `parquet:"status,dict" doc:"up, down, unknown, or skipped; up says only that a public address answered"`
	HTTPCode  *int32   `parquet:"http_code,optional" doc:"status code of the answer that decided; NULL without one"`
	LatencyMS *int64   `parquet:"latency_ms,optional" doc:"milliseconds the deciding request took; NULL without a request"`
	Target    *string  `parquet:"target,optional" doc:"URL that decided; NULL when nothing was asked"`
	Error     *string  `parquet:"error,optional,dict" doc:"outcome word of what went wrong; NULL when nothing did"`
	Reasons   []string `parquet:"reasons,list" doc:"short codes that led to the status"`
	CheckedAt *int64   `parquet:"checked_at,optional,timestamp(microsecond)" doc:"when the deciding request was sent, UTC; NULL when nothing was asked"`

	PreviousKind        *string  `parquet:"previous_kind,optional,dict" doc:"kind of the crawl compared with; NULL without one"`
	PreviousCrawl       *int32   `parquet:"previous_crawl,optional,date" doc:"start date of the crawl compared with; NULL without one"`
	CardAppeared        *bool    `parquet:"card_appeared,optional" doc:"a card now, none before"`
	CardGone            *bool    `parquet:"card_gone,optional" doc:"a card before, none now"`
	BodyChanged         *bool    `parquet:"body_changed,optional" doc:"the bytes of the card differ"`
	CanonicalChanged    *bool    `parquet:"canonical_changed,optional" doc:"the content differs, layout and signatures apart"`
	AgentVersionChanged *bool    `parquet:"agent_version_changed,optional" doc:"the agent's own version differs"`
	AgentVersionBefore  *string  `parquet:"agent_version_before,optional" doc:"the agent's own version before"`
	AgentVersionAfter   *string  `parquet:"agent_version_after,optional" doc:"the agent's own version now"`
	A2AVersionChanged   *bool    `parquet:"a2a_version_changed,optional" doc:"the A2A version differs"`
	A2AVersionBefore    *string  `parquet:"a2a_version_before,optional,dict" doc:"A2A version before"`
	A2AVersionAfter     *string  `parquet:"a2a_version_after,optional,dict" doc:"A2A version now"`
	SkillsAdded         []string `parquet:"skills_added,list,optional" doc:"IDs (else names) of skills that are new; NULL when not compared"`
	SkillsRemoved       []string `parquet:"skills_removed,list,optional" doc:"IDs (else names) of skills that are gone; NULL when not compared"`
	SignatureAdded      *bool    `parquet:"signature_added,optional" doc:"signed now, not before"`
	SignatureRemoved    *bool    `parquet:"signature_removed,optional" doc:"signed before, not now"`
}

// CrawlRow is the one row of a crawl in the table crawls. It is written last:
// a crawl without it is not published, and no view shows it.
type CrawlRow struct {
	SchemaVersion   int32  `parquet:"schema_version" doc:"layout of the crawl's tables"`
	ListSource      string `parquet:"list_source,dict" doc:"where the list came from: tranco, file, stdin, simulated, or cards"`
	ListID          string `parquet:"list_id" doc:"ID of the list; empty when it has none"`
	ListSHA256      string `parquet:"list_sha256" doc:"SHA-256 of the list as read, lower-case hex; empty when it has none"`
	Entries         int64  `parquet:"entries" doc:"entries of the list that this crawl covers"`
	Started         int64  `parquet:"started,timestamp(microsecond)" doc:"when the crawl began, UTC"`
	Finished        int64  `parquet:"finished,timestamp(microsecond)" doc:"when all sites were settled and the tables were written, UTC"`
	Interruptions   int64  `parquet:"interruptions" doc:"how often the crawl was stopped or killed and went on"`
	UserAgent       string `parquet:"user_agent" doc:"User-Agent sent"`
	KeyID           string `parquet:"keyid" doc:"key that signed the requests (JWK thumbprint); empty when none did"`
	SoftwareVersion string `parquet:"software_version" doc:"version of the crawler"`
	Settings        string `parquet:"settings" doc:"settings that matter, a JSON object"`
	Simulated       bool   `parquet:"simulated" doc:"the sites were made up: nothing here is about the web"`
	Sites           int64  `parquet:"sites" doc:"list entries settled: the sum of site_totals"`
	Cards           int64  `parquet:"cards" doc:"list entries with outcome card: rows of cards plus suppressed"`
	Suppressed      int64  `parquet:"suppressed" doc:"publishers counted whose rows were removed or never written, on request"`
	OptedOut        int64  `parquet:"opted_out" doc:"list entries that were not asked, on request"`
	Requests        int64  `parquet:"requests" doc:"requests sent"`
	BodyBytes       int64  `parquet:"body_bytes" doc:"bytes of body read, after content decoding"`
}
