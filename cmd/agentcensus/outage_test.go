package main

import (
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/miekg/dns"

	"agentcensus/pipeline/simweb"
	"agentcensus/sink"
)

// When the network goes in mid-run the crawl stops after 200 sites without an
// answer, and none of them is blamed: they count as interrupted by an outage
// here. When the network is back the crawl goes on.
func TestNetworkGone(t *testing.T) {
	t.Parallel()
	c := busy(71)
	c.Latency.Median /= 10
	s := newCensus(t, c, 500)
	// One slot: what is refused while the web closes is not followed by an
	// answer on a connection that it has yet to close.
	s.inFlight = 1
	p := s.crawl(t)
	s.requests(t, 150)
	resolvers := s.web.Resolvers()
	if err := s.web.Close(); err != nil {
		t.Fatal(err)
	}
	for _, addr := range resolvers {
		_, stop := serveDNS(t, addr, cutOff)
		defer stop()
	}
	p.ends(t, exitResumable, "the network here seems to be gone", "the same command goes on with it")
	l := s.examine(t, sink.Adhoc)
	if l == nil || l.open > s.openSites() {
		t.Fatalf("left behind: %+v", l)
	}
	s.restartWeb(t)
	q := s.crawl(t, "--in-flight", "30")
	q.ends(t, exitComplete, "is complete")
	s.prove(t, proof{interruptedAtMost: outageSites + l.open, inFlight: 30, logs: []string{p.err.String(), q.out.String(), q.err.String()}})
	s.proveOutage(t)
}

// serveDNS serves a resolver at addr.
func serveDNS(t *testing.T, addr string, answer dns.HandlerFunc) (at string, stop func()) {
	t.Helper()
	conn, err := net.ListenPacket("udp", addr)
	if err != nil {
		t.Fatal(err)
	}
	started, ended := make(chan struct{}), make(chan error, 1)
	s := &dns.Server{PacketConn: conn, NotifyStartedFunc: func() { close(started) }, Handler: answer}
	go func() { ended <- s.ActivateAndServe() }()
	<-started
	return conn.LocalAddr().String(), func() {
		t.Helper()
		if err := errors.Join(s.Shutdown(), <-ended); err != nil {
			t.Error(err)
		}
	}
}

// cutOff is a resolver that is there and reaches nobody else.
func cutOff(w dns.ResponseWriter, q *dns.Msg) {
	_ = w.WriteMsg(new(dns.Msg).SetRcode(q, dns.RcodeServerFailure)) // who asked may be gone
}

// Where the operator's own resolver is gone nothing is learned of any site: the
// crawl stops within the time of one look-up, and blames nobody.
func TestResolverGone(t *testing.T) {
	t.Parallel()
	c := busy(73)
	c.Latency.Median /= 10
	s := newCensus(t, c, 300)
	s.inFlight = 4
	behind := s.web.Resolvers()[0]
	resolver, stop := serveDNS(t, "127.0.0.1:0", func(w dns.ResponseWriter, q *dns.Msg) {
		if m, err := dns.Exchange(q, behind); err == nil {
			_ = w.WriteMsg(m) // who asked may be gone
		}
	})
	direct := s.args
	s.args = slices.DeleteFunc(slices.Clone(direct), func(arg string) bool { return arg == "--resolver" || slices.Contains(s.web.Resolvers(), arg) })
	s.args = append(s.args, "--resolver", resolver)
	p := s.crawl(t)
	s.requests(t, 100)
	stop()
	p.ends(t, exitResumable, "resolver_gone", "name another with --resolver", "the same command goes on with it")
	l := s.examine(t, sink.Adhoc)
	if l == nil || l.open > s.openSites() {
		t.Fatalf("left behind: %+v", l)
	}
	s.args = direct
	q := s.crawl(t)
	q.ends(t, exitComplete, "is complete")
	s.prove(t, proof{interruptedAtMost: l.open, logs: []string{p.err.String(), q.out.String(), q.err.String()}})
}

// The same when nothing comes back at all: what was asked timed out, and is
// blamed no more than what was refused.
func TestNetworkSilent(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("200 sites time out")
	}
	silent := simweb.ScenarioSite{Robots: &simweb.Play{Do: "silent"}}
	s := newCensus(t, busy(72), 330)
	s.inFlight = 60
	s.config.Scenario = &simweb.Scenario{}
	for i, name := range s.entries {
		if silent.Name = name; s.fate(int64(i+1)).Outcome != "duplicate" {
			s.config.Scenario.Sites = append(s.config.Scenario.Sites, silent)
		}
	}
	s.restartWeb(t)
	p := s.crawl(t)
	p.ends(t, exitResumable, "the network here seems to be gone", "the same command goes on with it")
	l := s.examine(t, sink.Adhoc)
	if l == nil || l.open > s.openSites() {
		t.Fatalf("left behind: %+v", l)
	}
	s.config.Scenario = nil
	s.restartWeb(t)
	q := s.crawl(t)
	q.ends(t, exitComplete, "is complete")
	// The web notices late that sixty clients gave up at once.
	s.prove(t, proof{interruptedAtMost: outageSites + l.open, inFlight: 2 * 60, logs: []string{p.err.String(), q.out.String(), q.err.String()}})
	s.proveOutage(t)
}

// outageSites is how many sites in a row without an answer are an outage.
const outageSites = 200

// proveOutage: so many sites, and no others, count as interrupted by an outage.
func (s *census) proveOutage(t *testing.T) {
	t.Helper()
	var sites int64
	for _, row := range rows[sink.SiteTotal](t, s.out) {
		if row.Outcome == "interrupted" && row.Reason == "own_outage" {
			sites += row.Sites
		}
	}
	if sites != outageSites {
		t.Errorf("%d sites count as interrupted by the outage, want %d", sites, outageSites)
	}
	for _, row := range rows[sink.FetchTotal](t, s.out) {
		switch row.Outcome {
		case "timeout", "connect_refused", "connection_lost", "dns_error":
			t.Errorf("blamed for the outage: %+v", row)
		}
	}
}
