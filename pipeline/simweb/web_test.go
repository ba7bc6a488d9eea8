package simweb

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// A site serves over DNS, TCP and TLS exactly the card whose facts its fate
// states.
func TestServesTheCardOfItsFate(t *testing.T) {
	w := start(t, Config{Profile: Plain, CardShare: 1, CardBytes: 3000})
	c := browser(t, w)
	for rank, name := range w.Names(30) {
		f := w.Fate(rank, name)
		if f.Card == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		status, body, err := getWithin(ctx, c, f.Card.CardURL)
		cancel()
		if err != nil || status != 200 {
			t.Fatalf("%s: status %d, %v", f.Card.CardURL, status, err)
		}
		if resp := sha256.Sum256(body); hex.EncodeToString(resp[:]) != f.Card.SHA256 && body[0] == '{' {
			t.Errorf("%s: the body is not the one of the facts", name)
		}
		if f.Card.BodyBytes < 3000 {
			t.Errorf("%s: a card of %d bytes, want at least 3000", name, f.Card.BodyBytes)
		}
	}
}

// In Loopback mode a client needs nothing but the DNS server and the port.
func TestLoopbackAnswersOtherProcesses(t *testing.T) {
	w := start(t, Config{Profile: Plain, Addresses: Loopback})
	m, err := lookup(t.Context(), w, "some.example", dns.TypeA)
	if err != nil {
		t.Fatal(err)
	}
	a := addressesIn(m)
	if len(a) != 1 || !a[0].IsLoopback() {
		t.Fatalf("addresses %v, want one on loopback", a)
	}
	addr := net.JoinHostPort(a[0].String(), strconv.Itoa(w.Port()))
	c, err := tls.Dial("tcp", addr, &tls.Config{ServerName: "some.example", RootCAs: w.Roots()})
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, c)
	if _, err := c.Write([]byte("GET /robots.txt HTTP/1.1\r\nHost: some.example\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("answer %v, %v", resp, err)
	}
}

func closing(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// The gauge counts what is open at the server, and a client's Close ends its
// request at once.
func TestPeakCountsRequestsAtOnce(t *testing.T) {
	w := oneSite(t, ScenarioSite{Robots: &Play{Do: "silent"}})
	var conns []net.Conn
	for range 5 {
		c, err := handshakeWith(t.Context(), w, "site.example")
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
		if _, err := c.Write([]byte("GET /robots.txt HTTP/1.1\r\nHost: site.example\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "five requests in flight", func() bool { return w.Stats().InFlight == 5 })
	for _, c := range conns {
		closing(t, c.(*tls.Conn).NetConn())
		if n := w.Stats().InFlight; n >= 5 {
			t.Errorf("%d in flight after a close", n)
		}
	}
	if w.Peak() != 5 || w.Stats().InFlight != 0 {
		t.Errorf("peak %d and %d left, want 5 and 0", w.Peak(), w.Stats().InFlight)
	}
	if n := len(requests(w.Log())); n != 5 {
		t.Errorf("%d requests in the log, want 5", n)
	}
}

func requests(log []Entry) (out []Entry) {
	for _, e := range log {
		if e.Kind == KindRequest {
			out = append(out, e)
		}
	}
	return out
}

// A kept connection carries several requests; each is timed from its own first
// byte and judged by itself.
func TestLogOfAKeptConnection(t *testing.T) {
	w := start(t, Config{
		Profile: Plain,
		Verify: func(_, authority, path string, h http.Header, _ time.Time) string {
			if authority != "a.example" || h.Get("Signature") == "" && path != RobotsPath {
				return "unsigned"
			}
			return ""
		},
	})
	c := browser(t, w)
	for _, path := range []string{RobotsPath, CardPath} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if _, _, err := getWithin(ctx, c, "https://a.example"+path); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	log := requests(w.Log()) // of one connection, so in order
	if len(log) != 2 || log[0].Conn != log[1].Conn {
		t.Fatalf("log %+v, want two requests of one connection", log)
	}
	if log[0].Signature != "ok" || log[1].Signature != "unsigned" {
		t.Errorf("verdicts %q and %q", log[0].Signature, log[1].Signature)
	}
	if log[1].Start.Before(log[0].End) {
		t.Error("the second request began before the first ended")
	}
	if log[0].Line != "GET /robots.txt HTTP/1.1" || log[0].Origin != "https://a.example" || log[0].Status != 200 {
		t.Errorf("first entry %+v", log[0])
	}
	if got := w.Stats(); got.Requests != 2 || got.Unverified != 1 || got.Handshakes != 1 || got.Dials != 1 {
		t.Errorf("counters %+v", got)
	}
	w.Forget()
	if len(w.Log()) != 0 || w.Stats().Requests != 0 {
		t.Error("the log was not forgotten")
	}
}

// Latency is drawn from the name and path alone and lies around its median.
func TestLatencyIsLognormal(t *testing.T) {
	l := Lognormal{Median: 80 * time.Millisecond, Sigma: 0.6}
	below := 0
	for i := range 4000 {
		if l.at(mix(uint64(i))) < l.Median {
			below++
		}
	}
	if below < 1900 || below > 2100 {
		t.Errorf("%d of 4000 delays lie below the median", below)
	}
	if first := l.at(7); l.at(7) != first || (Lognormal{}).at(7) != 0 {
		t.Error("a delay is not what its hash says")
	}
}

func TestLogModes(t *testing.T) {
	ask := func(t *testing.T, w *Web) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, _, err := getWithin(ctx, browser(t, w), "https://a.example/robots.txt"); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("lines of JSON", func(t *testing.T) {
		var out bytes.Buffer
		w, err := Start(t.Context(), Config{Profile: Plain, Log: LogWriter, LogTo: &out})
		if err != nil {
			t.Fatal(err)
		}
		ask(t, w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		kinds := map[string]int{}
		d := json.NewDecoder(&out)
		for d.More() {
			var e Entry
			if err := d.Decode(&e); err != nil {
				t.Fatal(err)
			}
			kinds[e.Kind]++
		}
		for _, k := range []string{KindDNS, KindDial, KindConn, KindHandshake, KindRequest} {
			if kinds[k] != 1 {
				t.Errorf("%d entries of kind %s, want 1", kinds[k], k)
			}
		}
	})
	t.Run("counters keep no entry", func(t *testing.T) {
		w := start(t, Config{Profile: Plain, Log: LogCounters})
		ask(t, w)
		if len(w.Log()) != 0 || w.Stats().Requests != 1 {
			t.Errorf("%d entries, %d requests counted", len(w.Log()), w.Stats().Requests)
		}
	})
}

// Close ends stalled connections of every sort; goleak looks for what is left.
func TestCloseEndsStalledConnections(t *testing.T) {
	for _, do := range []string{"silent", "slow_headers", "slow_body", "stalled_body", "endless_headers"} {
		w, err := Start(t.Context(), Config{Scenario: &Scenario{Sites: []ScenarioSite{{Name: "site.example", Robots: &Play{Do: do}}}}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := handshakeWith(t.Context(), w, "site.example")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("GET /robots.txt HTTP/1.1\r\nHost: site.example\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		until(t, "the request is open", func() bool { return w.Stats().InFlight == 1 })
		if err := w.Close(); err != nil {
			t.Errorf("%s: %v", do, err)
		}
		closing(t, c.NetConn())
	}
}

func TestTheContextEndsTheWeb(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w, err := Start(ctx, Config{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	until(t, "the web is closed", w.isClosed)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for name, c := range map[string]Config{
		"profile":         {Profile: "odd"},
		"dead share":      {DeadShare: 1.5},
		"card share":      {CardShare: -1},
		"card bytes":      {CardBytes: 1 << 20},
		"log to nobody":   {Log: LogWriter},
		"scenario":        {Scenario: &Scenario{Sites: []ScenarioSite{{Name: "a.example", TLS: "rot13"}}}},
		"behaviour":       {Scenario: &Scenario{Sites: []ScenarioSite{{Name: "a.example", Card: &Play{Do: "dance"}}}}},
		"nothing to tell": {Scenario: &Scenario{Sites: []ScenarioSite{{Name: "a.example", Card: &Play{Status: 200}}}}},
	} {
		if w, err := Start(t.Context(), c); err == nil {
			t.Errorf("%s: no error, %v", name, w.Close())
		}
	}
}

// The web shares no code with the crawler it judges.
func TestImportsNothingOfTheCrawler(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "agentcensus/") && line != "agentcensus/pipeline/simweb" {
			t.Errorf("simweb imports %s", line)
		}
	}
}
