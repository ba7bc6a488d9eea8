package simweb

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

var epoch = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

// asked is a request of 10 ms that began at a second after the epoch.
func asked(second int, url string, status int) Entry {
	rest := strings.TrimPrefix(url, "https://")
	host, path, _ := strings.Cut(rest, "/")
	at := epoch.Add(time.Duration(second) * time.Second)
	return Entry{
		Kind: KindRequest, Conn: int64(second), Host: host, Origin: "https://" + host, Method: "GET", Path: "/" + path,
		Line: "GET /" + path + " HTTP/1.1", Start: at, End: at.Add(10 * time.Millisecond), Status: status, Header: http.Header{},
	}
}

func (e Entry) to(location string) Entry      { e.Location = location; return e }
func (e Entry) deny(paths ...string) Entry    { e.Denies = paths; return e }
func (e Entry) closing() Entry                { e.Closes = true; return e }
func (e Entry) lasting(d time.Duration) Entry { e.End = e.Start.Add(d); return e }
func (e Entry) line(method, line string) Entry {
	e.Method, e.Line = method, line
	return e
}

func (e Entry) verdict(s string) Entry { e.Signature = s; return e }

func (e Entry) signed(nonce, signature string) Entry {
	e.Header = http.Header{
		"Signature-Input": {`sig1=("@authority");created=1;nonce="` + nonce + `"`},
		"Signature":       {"sig1=:" + signature + ":"},
	}
	return e
}

func dialled(addr string) Entry {
	return Entry{Kind: KindDial, Host: "a.example", Addr: addr, Start: epoch, End: epoch}
}

const addrA, addrB = "93.1.2.3:443", "93.1.2.4:443"

// dial is a dial from one moment after the epoch to another, of connection conn,
// or of none when it brought none.
func dial(host, addr string, conn int64, from, to time.Duration) Entry {
	e := Entry{Kind: KindDial, Conn: conn, Host: host, Addr: addr, Start: epoch.Add(from), End: epoch.Add(to)}
	if conn == 0 {
		e.Fault = "connection refused"
	}
	return e
}

// shaken is a handshake that went wrong, on a connection that was dialled.
func shaken(host string, conn int64, from, to time.Duration) Entry {
	return Entry{Kind: KindHandshake, Conn: conn, Host: host, Start: epoch.Add(from), End: epoch.Add(to), Fault: "no"}
}

// between is a request from one moment after the epoch to another.
func between(conn int64, url string, from, to time.Duration) Entry {
	e := asked(0, url, 404)
	e.Conn, e.Start, e.End = conn, epoch.Add(from), epoch.Add(to)
	return e
}

const (
	robotsA = "https://a.example/robots.txt"
	cardA   = "https://a.example/.well-known/agent-card.json"
	legacyA = "https://a.example/.well-known/agent.json"
	robotsW = "https://www.a.example/robots.txt"
	cardW   = "https://www.a.example/.well-known/agent-card.json"
)

func TestCheckFindsPlantedViolations(t *testing.T) {
	crowd := make([]Entry, 61)
	for i := range crowd {
		crowd[i] = asked(0, "https://"+string(rune('a'+i%26))+string(rune('a'+i/26))+".example/robots.txt", 200)
	}
	holes := make([]Entry, 61)
	for i := range holes {
		holes[i] = dial(string(rune('a'+i%26))+string(rune('a'+i/26))+".example", addrA, 0, 0, time.Second)
	}
	const ms = time.Millisecond
	for _, tt := range []struct {
		name   string
		want   string
		limits Limits
		log    []Entry
	}{
		{"card before robots.txt", "P1", Limits{}, []Entry{asked(1, cardA, 404)}},
		{"other origin without its robots.txt", "P1", Limits{}, []Entry{asked(1, robotsA, 404), asked(2, cardA, 301).to(cardW), asked(3, cardW, 404)}},
		{"disallowed path", "P1", Limits{}, []Entry{asked(1, robotsA, 200).deny(CardPath), asked(2, cardA, 404)}},
		{"disallowed by redirected rules", "P1", Limits{}, []Entry{asked(1, robotsA, 301).to(robotsW), asked(2, robotsW, 200).deny(CardPath), asked(3, cardA, 404)}},
		{"closed site", "P1", Limits{}, []Entry{asked(1, robotsA, 503).closing(), asked(2, cardA, 404)}},
		{"closed by a page that robots.txt leads to", "P1", Limits{}, []Entry{
			asked(1, robotsA, 302).to("/r"), asked(2, "https://a.example/r", 503).closing(), asked(3, cardA, 404),
		}},
		{"closed by an answer known before", "P1", Limits{}, []Entry{
			asked(1, robotsA, 404), asked(2, cardA, 302).to("/r"), asked(3, "https://a.example/r", 503).closing(),
			asked(4, legacyA, 302).to("https://www.a.example/l"), asked(5, robotsW, 302).to("https://a.example/r"), asked(6, "https://www.a.example/l", 404),
		}},
		{"disallowed by an answer known before", "P1", Limits{}, []Entry{
			asked(1, robotsA, 404), asked(2, cardA, 302).to("/r"), asked(3, "https://a.example/r", 200).deny("/l"),
			asked(4, legacyA, 302).to("https://www.a.example/l"), asked(5, robotsW, 302).to("https://a.example/r"), asked(6, "https://www.a.example/l", 404),
		}},
		{"disallowed redirect target", "P1", Limits{}, []Entry{asked(1, robotsA, 200).deny("/a"), asked(2, cardA, 302).to("/a"), asked(3, "https://a.example/a", 404)}},
		{"below what is disallowed", "P1", Limits{}, []Entry{asked(1, robotsA, 200).deny("/a"), asked(2, cardA, 302).to("/a/b?c"), asked(3, "https://a.example/a/b?c", 404)}},
		{"disallowed home page", "P1", Limits{}, []Entry{asked(1, robotsA, 200).deny("/$"), asked(2, cardA, 302).to("/"), asked(3, "https://a.example/", 404)}},
		{"www after a dead apex", "P1", Limits{}, []Entry{dial("a.example", addrA, 0, 0, ms), asked(1, robotsW, 404)}},
		{"www dialled after a closed apex", "P1", Limits{}, []Entry{asked(1, robotsA, 503).closing(), dial("www.a.example", addrA, 0, 3*time.Second, 4*time.Second)}},
		{"fourth path", "P2", Limits{}, []Entry{asked(1, robotsA, 404), asked(2, "https://a.example/admin", 404)}},
		{"target of another site's redirect", "P2", Limits{}, []Entry{
			asked(1, robotsA, 404), asked(2, cardA, 302).to("https://b.example/x"), asked(3, "https://b.example/robots.txt", 404), asked(4, "https://b.example/x", 404),
		}},
		{"POST", "P2", Limits{}, []Entry{asked(1, robotsA, 404).line("POST", "POST /robots.txt HTTP/1.1")}},
		{"absolute form", "P2", Limits{}, []Entry{asked(1, robotsA, 404).line("GET", "GET /robots.txt HTTP/1.0")}},
		{"port in Host", "P2", Limits{}, []Entry{func() Entry { e := asked(1, robotsA, 404); e.Origin += ":8443"; return e }()}},
		{"other port", "P2", Limits{}, []Entry{dialled("93.1.2.3:8443")}},
		{"URL twice", "P3", Limits{}, []Entry{asked(1, robotsA, 404), asked(2, robotsA, 404)}},
		{"an equivalent URL", "P3", Limits{}, []Entry{
			asked(1, robotsA, 404), asked(2, cardA, 302).to("/.well-known/agent%2Dcard.json"), asked(3, "https://a.example/.well-known/agent%2dcard.json", 404),
		}},
		{"dead host dialled twice", "P3", Limits{}, []Entry{dial("a.example", addrA, 0, 0, ms), dial("a.example", addrA, 0, time.Second, time.Second+ms)}},
		{"asked again on another connection after a failed handshake", "P3", Limits{}, []Entry{
			dial("a.example", addrA, 1, 0, ms), shaken("a.example", 1, ms, 9*ms), dial("a.example", addrB, 2, 10*ms, 11*ms), between(2, robotsA, 11*ms, 20*ms),
		}},
		{"asked after a failed handshake", "P3", Limits{}, []Entry{shaken("a.example", 1, ms, 9*ms), between(2, robotsA, 11*ms, 20*ms)}},
		{"61 dials at once", "P4", Limits{}, holes},
		{"a dial begun before the slot was free", "P4", Limits{InFlight: 1}, []Entry{
			between(1, "https://b.example/robots.txt", 0, 100*ms), dial("a.example", addrA, 2, 90*ms, 110*ms), between(2, robotsA, 110*ms, 120*ms),
		}},
		{"61 at once", "P4", Limits{}, crowd},
		{"two at once of one site", "P5", Limits{}, []Entry{asked(1, robotsA, 404).lasting(2 * time.Second), asked(2, robotsW, 404)}},
		{"apex and www dialled at once", "P5", Limits{}, []Entry{
			dial("a.example", addrA, 0, 0, 100*ms), dial("www.a.example", addrB, 0, 50*ms, 150*ms),
		}},
		{"www dialled before the apex has answered", "P5", Limits{}, []Entry{
			dial("a.example", addrA, 1, 0, 10*ms), between(1, robotsA, 10*ms, 100*ms), dial("www.a.example", addrB, 2, 90*ms, 110*ms), between(2, robotsW, 110*ms, 120*ms),
		}},
		{"both connections of a race used", "P5", Limits{}, []Entry{
			dial("a.example", addrA, 1, 0, 10*ms), dial("a.example", addrB, 2, 5*ms, 12*ms), between(1, robotsA, 10*ms, 50*ms), between(2, cardA, 60*ms, 70*ms),
		}},
		{"four redirects", "P6", Limits{}, []Entry{
			asked(1, robotsA, 404), asked(2, cardA, 302).to("/1"), asked(3, "https://a.example/1", 302).to("/2"), asked(4, "https://a.example/2", 302).to("/3"),
			asked(5, "https://a.example/3", 302).to("/4"), asked(6, "https://a.example/4", 404),
		}},
		{"seven seconds", "P7", Limits{}, []Entry{asked(1, robotsA, 404).lasting(7 * time.Second)}},
		{"five seconds to dial and five more", "P7", Limits{}, []Entry{
			dial("a.example", addrA, 1, 0, 3*time.Second), between(1, robotsA, 3*time.Second, 7*time.Second),
		}},
		{"four seconds for each address", "P7", Limits{}, []Entry{
			dial("a.example", addrA, 0, 0, 4*time.Second), dial("a.example", addrB, 0, 4*time.Second, 8*time.Second),
		}},
		{"slow handshake", "P7", Limits{}, []Entry{{Kind: KindHandshake, Host: "a.example", Start: epoch, End: epoch.Add(time.Minute)}}},
		{"bad signature", "P9", Limits{}, []Entry{asked(1, robotsA, 404).verdict("expired")}},
		{"no signature", "P9", Limits{Signed: true}, []Entry{asked(1, robotsA, 404)}},
		{"nonce twice", "P9", Limits{Signed: true}, []Entry{asked(1, robotsA, 404).signed("n1", "AA"), asked(2, cardA, 404).signed("n1", "BB")}},
		{"no nonce", "P9", Limits{Signed: true}, []Entry{func() Entry {
			e := asked(1, robotsA, 404)
			e.Header.Set("Signature", "sig1=:AA:")
			return e
		}()}},
		{"request to one who opted out", "P11", Limits{OptedOut: []string{"a.example"}}, []Entry{asked(1, robotsA, 404)}},
		{"look-up of a name below", "P11", Limits{OptedOut: []string{"www.a.example"}}, []Entry{{Kind: KindDNS, Host: "cdn.a.example"}}},
		{"private address", "P12", Limits{}, []Entry{dialled("10.0.0.1:443")}},
		{"mapped address", "P12", Limits{}, []Entry{dialled("[::ffff:192.168.0.1]:443")}},
		{"NAT64 address", "P12", Limits{}, []Entry{dialled("[64:ff9b::a00:1]:443")}},
		{"metadata service", "P12", Limits{}, []Entry{dialled("169.254.169.254:443")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found := Check(tt.log, tt.limits)
			if !slices.ContainsFunc(found, func(v Violation) bool { return v.Promise == tt.want }) {
				t.Errorf("found %v, want one of %s", found, tt.want)
			}
			if len(found) > 2 {
				t.Errorf("one plant, %d violations: %v", len(found), found)
			}
		})
	}
}

func TestCheckPassesWhatIsAllowed(t *testing.T) {
	const ms = time.Millisecond
	signed := asked(1, robotsA, 404).signed("n1", "AA").verdict("ok")
	for name, log := range map[string][]Entry{
		"three paths": {signed, asked(2, cardA, 404).signed("n2", "BB"), asked(3, legacyA, 404).signed("n3", "CC")},
		"apex to www": {
			asked(1, robotsA, 301).to(robotsW).signed("1", "A"), asked(2, robotsW, 200).signed("2", "B"),
			asked(3, cardA, 301).to(cardW).signed("3", "C"), asked(4, cardW, 404).signed("4", "D"),
		},
		"robots.txt to a page": {
			asked(1, robotsA, 302).to("/").signed("1", "A"), asked(2, "https://a.example/", 200).signed("2", "B"), asked(3, cardA, 404).signed("3", "C"),
		},
		"three redirects": {
			asked(1, robotsA, 404).signed("1", "A"), asked(2, cardA, 302).to("/1").signed("2", "B"), asked(3, "https://a.example/1", 302).to("2").signed("3", "C"),
			asked(4, "https://a.example/2", 302).to("HTTPS://A.EXAMPLE:443/3#x").signed("4", "D"), asked(5, "https://a.example/3", 404).signed("5", "E"),
		},
		"three redirects from a path that another led to": {
			asked(1, robotsA, 404).signed("1", "A"), asked(2, cardA, 302).to("/1").signed("2", "B"), asked(3, "https://a.example/1", 302).to(LegacyPath).signed("3", "C"),
			asked(4, legacyA, 302).to("/2").signed("4", "D"), asked(5, "https://a.example/2", 302).to("/3").signed("5", "E"),
			asked(6, "https://a.example/3", 302).to("/4").signed("6", "F"), asked(7, "https://a.example/4", 404).signed("7", "G"),
		},
		"a shorter way found later": {
			asked(1, robotsA, 404).signed("1", "A"), asked(2, cardA, 302).to("/1").signed("2", "B"), asked(3, "https://a.example/1", 302).to("/2").signed("3", "C"),
			asked(4, "https://a.example/2", 302).to("/3").signed("4", "D"), asked(5, "https://a.example/3", 302).to("/4").signed("5", "E"),
			asked(6, legacyA, 302).to("/3").signed("6", "F"), asked(7, "https://a.example/4", 404).signed("7", "G"),
		},
		"the other path when one is disallowed": {
			asked(1, robotsA, 200).deny(CardPath).signed("1", "A"), asked(2, legacyA, 404).signed("2", "B"),
		},
		"public dials": {dialled("93.1.2.3:443"), dialled("[2a01:4f8::1]:443")},
		"addresses of one host in turn": {
			dial("a.example", addrA, 0, 0, ms), dial("a.example", addrB, 2, 2*ms, 3*ms), between(2, robotsA, 3*ms, 9*ms).signed("1", "A"),
		},
		"addresses of one host beside each other": {
			dial("a.example", addrA, 0, 0, 260*ms), dial("a.example", addrB, 2, 250*ms, 255*ms), between(2, robotsA, 255*ms, 300*ms).signed("1", "A"),
		},
		"a race whose loser is closed unused": {
			dial("a.example", addrA, 1, 0, 260*ms), dial("a.example", addrB, 2, 250*ms, 255*ms),
			{Kind: KindHandshake, Conn: 1, Start: epoch.Add(260 * ms), End: epoch.Add(261 * ms), Fault: "EOF"},
			between(2, robotsA, 255*ms, 300*ms).signed("1", "A"),
		},
		"a race won by the later of two connections": {
			dial("a.example", addrA, 1, 0, 260*ms), dial("a.example", addrB, 2, 261*ms, 262*ms), between(2, robotsA, 262*ms, 300*ms).signed("1", "A"),
		},
		"a new connection for each request": {
			dial("a.example", addrA, 1, 0, ms), between(1, robotsA, ms, 9*ms).signed("1", "A"),
			dial("a.example", addrA, 2, 10*ms, 11*ms), between(2, cardA, 11*ms, 19*ms).signed("2", "B"),
			dial("www.a.example", addrA, 3, 20*ms, 21*ms), between(3, robotsW, 21*ms, 29*ms).signed("3", "C"),
		},
		"a kept connection older than five seconds": {
			dial("a.example", addrA, 1, 0, 3*time.Second), between(1, robotsA, 3*time.Second, 5*time.Second).signed("1", "A"),
			between(1, cardA, 5*time.Second, 9*time.Second).signed("2", "B"),
		},
		"robots.txt below what it disallows": {asked(1, robotsA, 301).to(robotsW).deny("/").signed("1", "A"), asked(2, robotsW, 404).deny("/").signed("2", "B")},
		"a card path that would close a site as robots.txt": {
			asked(1, robotsA, 404).signed("1", "A"), asked(2, cardA, 503).closing().signed("2", "B"), asked(3, legacyA, 404).signed("3", "C"),
		},
		"a name that only looks like one that opted out": {
			func() Entry { e := asked(1, "https://nota.example/robots.txt", 404).signed("1", "A"); return e }(),
		},
	} {
		if found := Check(log, Limits{Signed: true, OptedOut: []string{"a.example.net", "ta.example"}}); len(found) != 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// The web may notice up to the slack later that a client has gone: another
// request may have the slot by then, and no more than one.
func TestCheckAllowsForLateNotice(t *testing.T) {
	const ms = time.Millisecond
	given := between(1, robotsA, 0, 5*time.Second)
	given.Left = true
	for _, tt := range []struct {
		name string
		at   time.Duration // when the next request begins
		want int
	}{
		{"noticed late", 4990 * ms, 0},
		{"beyond the slack", 3900 * ms, 1},
	} {
		next := between(2, "https://b.example/robots.txt", tt.at, 6*time.Second)
		if found := Check([]Entry{given, next}, Limits{InFlight: 1}); len(found) != tt.want {
			t.Errorf("%s: %v, want %d", tt.name, found, tt.want)
		}
		two := between(3, "https://c.example/robots.txt", tt.at, 6*time.Second)
		if found := Check([]Entry{given, next, two}, Limits{InFlight: 1}); len(found) != 1 {
			t.Errorf("%s, two at once: %v, want the breach", tt.name, found)
		}
	}
}

// The operator's own hosts are free of the rules for sites, not of the others.
func TestCheckOwnHosts(t *testing.T) {
	own := "https://canary.example/alive"
	dead := dial("canary.example", addrA, 0, 5*time.Second, 6*time.Second)
	deadAgain := dial("canary.example", addrA, 0, 7*time.Second, 8*time.Second)
	if found := Check([]Entry{asked(1, own, 200), asked(2, own, 200), dead, deadAgain}, Limits{Own: []string{"canary.example"}}); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	if found := Check([]Entry{asked(1, own, 200).lasting(time.Minute)}, Limits{Own: []string{"canary.example"}}); len(found) != 1 {
		t.Errorf("found %v, want the minute", found)
	}
}

// What a written robots.txt does to the site is in the log, so that Check alone
// finds who goes on.
func TestCheckKnowsWrittenRules(t *testing.T) {
	rules := &Play{Status: 200, Body: "User-agent: *\nDisallow: /a\n", Denies: []string{"/a"}}
	for name, robots := range map[string]*Play{
		"503":                    {Status: 503},
		"429":                    {Status: 429},
		"redirect out":           {Status: 302, Location: "https://elsewhere.example/robots.txt"},
		"redirect without where": {Status: 301},
		"said to close":          {Status: 200, Body: "<html>who are you?</html>", Closes: true},
		"a disallowed target":    rules,
		"named: disallow":        {Do: "robots_disallow"},
		"named: unavailable":     {Do: "unavailable"},
		"named: reset":           {Do: "body_shorter"},
	} {
		t.Run(name, func(t *testing.T) {
			w := oneSite(t, ScenarioSite{
				Robots: robots, Card: &Play{Status: 302, Location: "/a"}, Paths: map[string]*Play{"/a": {Do: "not_found"}},
				Expect: &ScenarioExpected{Outcome: "not_found"},
			})
			c := browser(t, w)
			for _, path := range []string{RobotsPath, CardPath, "/a"} {
				if _, _, err := get(t, c, "https://site.example"+path); err != nil && path != RobotsPath {
					t.Fatal(err)
				}
			}
			var found []string
			for _, v := range w.Check(Limits{}) {
				found = append(found, v.Promise)
			}
			if len(found) == 0 || slices.ContainsFunc(found, func(p string) bool { return p != "P1" }) {
				t.Errorf("found %v, want P1", found)
			}
		})
	}
}

// A dial in the log belongs to its connection, and a request is as old as it.
func TestRequestsBeginWithTheirDial(t *testing.T) {
	w := oneSite(t, ScenarioSite{Link: "slow", TLS: "late", Robots: &Play{Do: "late_headers"}})
	if status, _, err := get(t, browser(t, w), "https://site.example"+RobotsPath); err != nil || status != 404 {
		t.Fatalf("status %d, %v", status, err)
	}
	limit := headTime + shakeTime // the server's own time alone
	found := w.Check(Limits{Timeout: limit + linkTime/2, Slack: time.Nanosecond})
	if len(found) != 1 || found[0].Promise != "P7" {
		t.Errorf("found %v, want P7", found)
	}
}

// A polite client in a few lines keeps the promises, and reports what the truth
// says; a rude one does not.
func TestCheckJudgesClients(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	t.Run("polite", func(t *testing.T) {
		w := start(t, Config{Profile: Plain, CardShare: 0.3})
		c := browser(t, w)
		for rank, name := range w.Names(40) {
			f := w.Fate(rank, name)
			if f.Outcome == "invalid_name" || f.Outcome == "duplicate" {
				continue
			}
			var got []int
			for _, row := range f.Fetches {
				status, _, err := getWithin(ctx, c, "https://"+name+row.Path)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, status)
				if status != row.Status {
					t.Errorf("%s%s: status %d, the truth says %d", name, row.Path, status, row.Status)
				}
			}
			if f.Outcome == "card" && got[len(got)-1] != 200 {
				t.Errorf("%s: no card: %v", name, got)
			}
		}
		if found := w.Check(Limits{InFlight: 1}); len(found) != 0 {
			t.Errorf("violations: %v", found)
		}
	})
	t.Run("rude", func(t *testing.T) {
		w := start(t, Config{Profile: Plain})
		c := browser(t, w)
		for _, path := range []string{CardPath, "/login", RobotsPath, RobotsPath} {
			if _, _, err := getWithin(ctx, c, "https://a.example"+path); err != nil {
				t.Fatal(err)
			}
		}
		got := map[string]bool{}
		for _, v := range w.Check(Limits{Signed: true, OptedOut: []string{"example"}}) {
			got[v.Promise] = true
		}
		for _, p := range []string{"P1", "P2", "P3", "P9", "P11"} {
			if !got[p] {
				t.Errorf("%s was not found broken", p)
			}
		}
	})
}
