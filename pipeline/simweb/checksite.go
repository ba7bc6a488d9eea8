package simweb

import (
	"slices"
	"strings"
	"time"
)

// siteCheck is what the requests of one site, apex and www, have told so far.
type siteCheck struct {
	*checker
	asked   map[string]Entry    // by URL
	origins map[string]bool     // whose robots.txt was asked
	depth   map[string]int      // redirects by which a URL was reached
	denied  map[string][]string // what a robots.txt disallows, by origin: see Entry.Denies
	closed  string              // the robots.txt that ended the site
	rulesOf map[string][]string // URLs to the origins whose robots.txt led there, itself included
	dead    map[string]bool     // hosts of which a request brought nothing
	until   time.Time
}

// site judges the requests of one site in the order they began.
func (c *checker) site(spans []span) {
	s := &siteCheck{
		checker: c, asked: map[string]Entry{}, origins: map[string]bool{}, depth: map[string]int{},
		denied: map[string][]string{}, rulesOf: map[string][]string{}, dead: map[string]bool{},
	}
	for _, one := range spans {
		if one.start.Before(s.until) {
			c.report("P5", one.entry, "a request to %s begun before the request before it ended", one.host)
		}
		s.until = later(s.until, one.end)
		if s.dead[one.host] {
			c.report("P3", one.entry, "%s asked again, which gave no answer", one.host)
		}
		if one.asked() {
			s.request(one.entry)
			continue
		}
		if s.closed != "" && !s.dead[one.host] {
			c.report("P1", one.entry, "%s dialled although %s closed the site", one.host, s.closed)
		}
		s.dead[one.host] = true
		// Its robots.txt was the first thing wanted of it, and could not be read.
		if origin := "https://" + one.host; !s.origins[origin] {
			s.closed = origin + RobotsPath
		}
	}
}

func (s *siteCheck) request(e Entry) {
	u := e.Origin + e.Path
	_, linked := s.depth[u]
	three := e.Path == RobotsPath || e.Path == CardPath || e.Path == LegacyPath
	if _, again := s.asked[u]; again {
		s.report("P3", e, "%s asked again", u)
	}
	if !three && !linked {
		s.report("P2", e, "%s is none of the three paths and no redirect led there", u)
	}
	if linked && !three && s.depth[u] > s.limits.Hops {
		s.report("P6", e, "%s lies %d redirects away", u, s.depth[u])
	}
	// A redirect of one origin's robots.txt may lead anywhere in it before
	// there are rules; the first request to it is robots.txt all the same.
	if e.Path != RobotsPath && !s.origins[e.Origin] {
		s.report("P1", e, "%s asked before the robots.txt of its origin", u)
	}
	if slices.ContainsFunc(s.denied[e.Origin], func(rule string) bool { return disallows(rule, e.Path) }) {
		s.report("P1", e, "%s is disallowed", u)
	}
	if s.closed != "" && !s.followsRules(e) {
		s.report("P1", e, "%s asked although %s closed the site", u, s.closed)
	}
	if e.Path == RobotsPath {
		s.govern(u, []string{e.Origin})
	}
	s.asked[u] = e
	if e.Path == RobotsPath {
		s.origins[e.Origin] = true
	}
	if to := target(e); to != "" {
		from := s.depth[u]
		if three {
			from = 0 // wherever it was met first, it is asked for its own sake too
		}
		s.reached(to, from+1)
	}
	s.read(e, s.rulesOf[u])
}

// reached says that u lies so many redirects away, and so does what it is known
// to lead to.
func (s *siteCheck) reached(u string, redirects int) {
	if d, ok := s.depth[u]; ok && d <= redirects {
		return
	}
	s.depth[u] = redirects
	if e, known := s.asked[u]; known && target(e) != "" {
		s.reached(target(e), redirects+1)
	}
}

// followsRules says whether a robots.txt led to e, or to another URL of its origin
// that waits for e. The redirects of a robots.txt that closes a site may be
// followed.
func (s *siteCheck) followsRules(e Entry) bool {
	if len(s.rulesOf[e.Origin+e.Path]) > 0 {
		return true
	}
	for u := range s.rulesOf {
		if _, known := s.asked[u]; !known && e.Path == RobotsPath && strings.HasPrefix(u, e.Origin+"/") {
			return true
		}
	}
	return false
}

// govern says that the robots.txt of origins led to u: its answer, once there is
// one, is their rules (RFC 9309, section 2.3.1.2). A URL that was asked before
// has an answer already.
func (s *siteCheck) govern(u string, origins []string) {
	var fresh []string
	for _, o := range origins {
		if !slices.Contains(s.rulesOf[u], o) {
			fresh = append(fresh, o)
		}
	}
	s.rulesOf[u] = append(s.rulesOf[u], fresh...)
	if e, known := s.asked[u]; known {
		s.read(e, fresh)
	}
}

// read takes an answer as the robots.txt of origins.
func (s *siteCheck) read(e Entry, origins []string) {
	if len(origins) == 0 {
		return
	}
	for _, o := range origins {
		s.denied[o] = append(s.denied[o], e.Denies...)
	}
	if e.Closes {
		s.closed = e.Origin + e.Path
	}
	if to := target(e); to != "" {
		s.govern(to, origins)
	}
}

// disallows applies one of Entry.Denies; /robots.txt itself is always allowed
// (RFC 9309, section 2.2.2).
func disallows(rule, path string) bool {
	if path == RobotsPath {
		return false
	}
	if whole, ok := strings.CutSuffix(rule, "$"); ok {
		return path == whole
	}
	return strings.HasPrefix(path, rule)
}
