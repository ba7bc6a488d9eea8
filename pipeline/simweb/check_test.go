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
		{"fourth path", "P2", Limits{}, []Entry{asked(1, robotsA, 404), asked(2, "https://a.example/admin", 404)}},
		{"target of another site's redirect", "P2", Limits{}, []Entry{
			asked(1, robotsA, 404), asked(2, cardA, 302).to("https://b.example/x"), asked(3, "https://b.example/robots.txt", 404), asked(4, "https://b.example/x", 404),
		}},
		{"POST", "P2", Limits{}, []Entry{asked(1, robotsA, 404).line("POST", "POST /robots.txt HTTP/1.1")}},
		{"absolute form", "P2", Limits{}, []Entry{asked(1, robotsA, 404).line("GET", "GET /robots.txt HTTP/1.0")}},
		{"port in Host", "P2", Limits{}, []Entry{func() Entry { e := asked(1, robotsA, 404); e.Origin += ":8443"; return e }()}},
		{"other port", "P2", Limits{}, []Entry{dialled("93.1.2.3:8443")}},
		{"URL twice", "P3", Limits{}, []Entry{asked(1, robotsA, 404), asked(2, robotsA, 404)}},
		{"61 at once", "P4", Limits{}, crowd},
		{"two at once of one site", "P5", Limits{}, []Entry{asked(1, robotsA, 404).lasting(2 * time.Second), asked(2, robotsW, 404)}},
		{"four redirects", "P6", Limits{}, []Entry{
			asked(1, robotsA, 404), asked(2, cardA, 302).to("/1"), asked(3, "https://a.example/1", 302).to("/2"), asked(4, "https://a.example/2", 302).to("/3"),
			asked(5, "https://a.example/3", 302).to("/4"), asked(6, "https://a.example/4", 404),
		}},
		{"seven seconds", "P7", Limits{}, []Entry{asked(1, robotsA, 404).lasting(7 * time.Second)}},
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
		"the other path when one is disallowed": {
			asked(1, robotsA, 200).deny(CardPath).signed("1", "A"), asked(2, legacyA, 404).signed("2", "B"),
		},
		"public dials": {dialled("93.1.2.3:443"), dialled("[2a01:4f8::1]:443")},
		"a name that only looks like one that opted out": {
			func() Entry { e := asked(1, "https://nota.example/robots.txt", 404).signed("1", "A"); return e }(),
		},
	} {
		if found := Check(log, Limits{Signed: true, OptedOut: []string{"a.example.net", "ta.example"}}); len(found) != 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// The operator's own hosts are free of the rules for sites, not of the others.
func TestCheckOwnHosts(t *testing.T) {
	own := "https://canary.example/alive"
	if found := Check([]Entry{asked(1, own, 200), asked(2, own, 200)}, Limits{Own: []string{"canary.example"}}); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	if found := Check([]Entry{asked(1, own, 200).lasting(time.Minute)}, Limits{Own: []string{"canary.example"}}); len(found) != 1 {
		t.Errorf("found %v, want the minute", found)
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
