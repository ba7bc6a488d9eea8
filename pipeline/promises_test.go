package pipeline_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"
	"go.etcd.io/bbolt"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"agentcensus/pipeline/simweb"
	"agentcensus/sources"
)

// shortTimeout stands in for the five seconds of P7, so that a web with slow
// sites is crawled in a moment. Nothing that is answered at once comes near it.
const shortTimeout = 300 * time.Millisecond

// fewWebs are drawn when nobody asked for a number with -rapid.checks.
const fewWebs = 25

// Whatever a small web does, and whenever the crawl is killed or stopped, the
// promises are kept: P1 to P7, P9, P11 and P12 in the web's own log over all
// runs, P8 in what was taken from connections and in the memory used, P10 and
// P13 to P15 in what is on the disk. Each entry ends as it would have without
// the deaths, or as interrupted if a death found it open. What is crawled is
// what a scenario file says, so that such a file is all there is to a failure.
func TestPromisesHoldOnAnyWeb(t *testing.T) {
	defer goleak.VerifyNone(t)
	webs, broken := 0, false
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	rapid.Check(t, func(t *rapid.T) {
		if webs++; webs > fewWebs && !asked && !broken {
			return
		}
		text := written(t, drawCrawl(t))
		drawn, deaths, killWriting := replay(read(t, text))
		faults := crawlToTheEnd(t, drawn, deaths, killWriting)
		for _, f := range faults {
			broken = true
			t.Errorf("%s", f)
		}
		if len(faults) > 0 {
			t.Logf("to keep this web, name its sites after what they show, as simweb/testdata/promises-NAME.yaml:\n%s", text)
		}
	})
}

// A scenario in which a promise was broken once is crawled as it was then, and
// without the deaths.
func TestPromisesBrokenOnceAreKept(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("simweb", "testdata", "promises*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("scenario files %v, %v", files, err)
	}
	for _, file := range files {
		drawn, deaths, killWriting := replay(loadScenario(t, filepath.Base(file)))
		for name, faults := range map[string]func(*testing.T) []string{
			"as it was":      func(t *testing.T) []string { return crawlToTheEnd(t, drawn, deaths, killWriting) },
			"without deaths": func(t *testing.T) []string { return crawlToTheEnd(t, drawn, nil, false) },
		} {
			t.Run(filepath.Base(file)+" "+name, func(t *testing.T) {
				defer goleak.VerifyNone(t)
				for _, fault := range faults(t) {
					t.Error(fault)
				}
			})
		}
	}
}

// A drawn web that is written to a file and read again is the same, deaths and
// all.
func TestDrawnWebsAreWrittenWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawCrawl(t)
		text := written(t, drawn)
		if d := gocmp.Diff(drawn, read(t, text), cmpopts.IgnoreUnexported(simweb.Scenario{}), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("-drawn +read:\n%s\nof\n%s", d, text)
		}
	})
}

// A card of as many bytes as may be is a card, and one more is too many,
// whatever of it is sent; of what has no end little is taken.
func TestBodiesEndAtTheirLimit(t *testing.T) {
	defer goleak.VerifyNone(t)
	card := func(size int) *simweb.Play {
		return &simweb.Play{Status: 200, Body: sampleCard + strings.Repeat(" ", size-len(sampleCard))}
	}
	filler := &simweb.Play{Status: 200, Body: "0123456789abcdef", Repeat: 1 << 17}
	rules := &simweb.Play{Status: 200, Body: "# nothing is disallowed here...\n", Repeat: 1 << 16}
	tooLarge := &simweb.ScenarioExpected{Outcome: "too_large"}
	published := &simweb.ScenarioExpected{Outcome: "card", Reason: "R1"}
	s := &simweb.Scenario{Only: true, InFlight: 2, Sites: []simweb.ScenarioSite{
		{Name: "largest.example", Card: card(cardLimit), Expect: published},
		{Name: "larger.example", Card: card(cardLimit + 1), Expect: tooLarge},
		{Name: "legacy.example", Legacy: card(cardLimit + 1), Expect: tooLarge},
		{Name: "elsewhere.example", Card: &simweb.Play{Status: 302, Location: "/lamps"}, Paths: map[string]*simweb.Play{"/lamps": card(cardLimit + 1)}, Expect: tooLarge},
		{Name: "two-megabytes.example", Card: filler, Legacy: filler, Expect: tooLarge},
		{Name: "rules.example", Robots: rules, Card: card(cardLimit), Expect: published},
		{Name: "bomb.example", Card: &simweb.Play{Do: "gzip_bomb"}, Legacy: &simweb.Play{Do: "zstd_bomb"}},
		{Name: "header.example", Card: &simweb.Play{Do: "header_10mb"}},
	}}
	drawn, deaths, killWriting := replay(s)
	for _, fault := range crawlToTheEnd(t, drawn, deaths, killWriting) {
		t.Error(fault)
	}
}

// written is a scenario as a file.
func written(t tester, s *simweb.Scenario) string {
	b, err := yaml.MarshalWithOptions(s, yaml.OmitEmpty())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func read(t tester, text string) *simweb.Scenario {
	s, err := simweb.ReadScenario(strings.NewReader(text))
	if err != nil {
		t.Fatal(err, text)
	}
	return s
}

// tester is what is needed of testing.T and rapid.T.
type tester interface {
	Context() context.Context
	Error(...any)
	Fatal(...any)
}

// crawlToTheEnd crawls a drawn web and lists the broken promises.
func crawlToTheEnd(t tester, drawn *randomWeb, deaths []death, killWriting bool) []string {
	dir, err := os.MkdirTemp("", "promises")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}()
	signer, verify, err := identity()
	if err != nil {
		t.Fatal(err)
	}
	web, err := simweb.Start(t.Context(), simweb.Config{Scenario: drawn.scenario, Verify: verify})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := web.Close(); err != nil {
			t.Error(err)
		}
	}()
	optOut := filepath.Join(dir, "opt-out.txt")
	if err := os.WriteFile(optOut, []byte(strings.Join(drawn.optedOut, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := sources.LoadOptOut(optOut)
	if err != nil {
		t.Fatal(err)
	}
	ends, asks := drawn.expect(web)
	l := &lives{
		web: web, list: drawn.list, ends: ends, optOut: out, inFlight: drawn.inFlight, timeout: shortTimeout, signer: signer,
		out: filepath.Join(dir, "out"), scratch: dir, killWriting: killWriting,
	}
	spent := watchMemory(t.Context())
	err = l.run(t.Context(), deaths)
	heap, _ := spent()
	if err != nil {
		t.Fatal(err)
	}
	if heap > maxSmallHeap {
		l.fault("P8: the heap grew by %d bytes, at most %d", heap, maxSmallHeap)
	}
	if err := l.checkTables(); err != nil {
		t.Fatal(err)
	}
	for _, v := range web.Check(simweb.Limits{InFlight: drawn.inFlight, Timeout: shortTimeout, Slack: scheduling, Signed: true, OptedOut: drawn.optedOut}) {
		l.fault("%v", v)
	}
	l.checkReading()
	l.checkEnds(drawn, asks)
	return l.faults
}

// checkEnds compares every entry with what it comes to without deaths, and the
// requests of a site with those that the model makes.
func (l *lives) checkEnds(drawn *randomWeb, asks [][]string) {
	log := newSiteLog(l.web.Log())
	for i, s := range drawn.list {
		site := strings.TrimPrefix(s.Domain, "www.")
		want, got := l.ends[i], l.final[s.Rank]
		asked, touchy := log.requests[site], drawn.touchy(site)
		whole := got == want
		switch {
		case whole:
		case got == interrupted && l.struck[s.Rank]:
		case touchy && (got.outcome == "connection_lost" || got.outcome == "not_found"):
			// The next request was sent before the end of the connection was
			// seen, and not again; not_found is what came before the end.
		case got.outcome == "timeout" && log.longest[site] > shortTimeout/2:
			// A machine too busy: the web saw the time run out.
		default:
			l.fault("%d %s ended as %v, want %v; asked %v", s.Rank, s.Domain, got, want, asked)
		}
		if asks[i] == nil {
			continue
		}
		if n := min(len(asked), len(asks[i])); !slices.Equal(asked, asks[i][:n]) || whole && !touchy && len(asked) < len(asks[i]) {
			l.fault("%d %s, %v: asked %v, want %v", s.Rank, s.Domain, got, asked, asks[i])
		}
	}
}

// siteLog is what the web's log says of each site.
type siteLog struct {
	requests map[string][]string // in their order, as host and path
	longest  map[string]time.Duration
}

func newSiteLog(log []simweb.Entry) siteLog {
	s := siteLog{map[string][]string{}, map[string]time.Duration{}}
	slices.SortStableFunc(log, func(a, b simweb.Entry) int { return cmp.Or(a.Start.Compare(b.Start), a.End.Compare(b.End)) })
	for _, e := range log {
		site := strings.TrimPrefix(e.Host, "www.")
		switch e.Kind {
		case simweb.KindRequest:
			s.requests[site] = append(s.requests[site], strings.TrimPrefix(e.Origin, "https://")+e.Path)
			fallthrough
		case simweb.KindDial, simweb.KindHandshake:
			s.longest[site] = max(s.longest[site], e.End.Sub(e.Start))
		}
	}
	return s
}

// The limits of P8: a body after decoding, and a header section.
const (
	cardLimit   = 262_144
	robotsLimit = 512_000
	headerLimit = 64 << 10
)

// takenBeside is what a crawler may take from a connection besides answers: the
// handshake, the heads of TLS records, and what it reads ahead.
const takenBeside = 96 << 10

// maxSmallHeap bounds how far the heap of this process, web included, rises in
// the crawl of a small web. A bomb that is decoded and kept is 256 MB.
const maxSmallHeap = 96 << 20

// metered counts what is taken from a connection: below TLS and decoding, and
// none of what waits in the buffers of the system.
type metered struct {
	net.Conn
	host  string
	taken atomic.Int64
}

func (c *metered) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.taken.Add(int64(n))
	return n, err
}

// SyscallConn is for the crawler's look at whether a connection is alive.
func (c *metered) SyscallConn() (syscall.RawConn, error) {
	sc, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return sc.SyscallConn()
}

func (l *lives) dial(ctx context.Context, addr netip.AddrPort, host string) (net.Conn, error) {
	c, err := l.web.Dial(ctx, addr, host)
	if err != nil {
		return nil, err
	}
	m := &metered{Conn: c, host: host}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.metered = append(l.metered, m)
	return m, nil
}

// checkReading holds what was taken from each connection against what the log
// says was sent over it, of each answer no more than P8 lets a crawler read.
func (l *lives) checkReading() {
	log := l.web.Log()
	moved := map[string]bool{} // sites with a robots.txt that redirects: its limit may hold at any path
	for _, e := range log {
		moved[e.Host] = moved[e.Host] || e.Path == simweb.RobotsPath && e.Location != ""
	}
	allowed := map[string]int64{}
	for _, e := range log {
		if e.Kind != simweb.KindRequest {
			continue
		}
		body := int64(cardLimit)
		site := strings.TrimPrefix(e.Host, "www.")
		if e.Path == simweb.RobotsPath || moved[site] || moved["www."+site] {
			body = robotsLimit
		}
		allowed[e.Remote] += min(e.Bytes, body+headerLimit)
	}
	for _, c := range l.metered {
		if most := allowed[c.LocalAddr().String()] + takenBeside; c.taken.Load() > most {
			l.fault("P8: %d bytes taken from a connection to %s, at most %d", c.taken.Load(), c.host, most)
		}
	}
}

// The columns that are read of the tables, by the Parquet library alone.
type (
	siteTotal struct {
		Outcome string `parquet:"outcome"`
		Reason  string `parquet:"reason"`
		Sites   int64  `parquet:"sites"`
	}
	cardRow struct {
		Rank      int64   `parquet:"rank"`
		Site      string  `parquet:"site"`
		CardURL   string  `parquet:"card_url"`
		Status    int32   `parquet:"http_status"`
		BodyBytes int64   `parquet:"body_bytes"`
		CardJSON  *string `parquet:"card_json,optional"`
	}
	crawlRow struct {
		Entries       int64 `parquet:"entries"`
		Interruptions int64 `parquet:"interruptions"`
		Sites         int64 `parquet:"sites"`
		Cards         int64 `parquet:"cards"`
	}
)

// checkTables reads what a finished crawl left: each table once, adding up to
// the list (P13), with rows of publishers alone (P10), whose cards are no larger
// than may be (P8) and were sent by the web, and no other file (P14).
func (l *lives) checkTables() error {
	left := []string{}
	for path, err := range l.files() {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, l.out+string(filepath.Separator))
		left = append(left, name)
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		l.namesNone(name, raw)
	}
	slices.Sort(left)
	published, err := l.published()
	if err != nil {
		return err
	}
	date := filepath.Base(filepath.Dir(published))
	want := []string{".state/lock"}
	for _, table := range []string{"cards", "crawls", "fetch_totals", "site_totals"} {
		want = append(want, filepath.Join("data", table, "kind=adhoc", date, table+".parquet"))
	}
	if want = append(want, "questions.sql", "views.sql"); !slices.Equal(left, want) {
		l.fault("P14: the crawl left %v, want %v", left, want)
		return nil
	}
	totals, err := parquet.ReadFile[siteTotal](filepath.Join(l.out, want[4]))
	if err != nil {
		return err
	}
	cards, err := parquet.ReadFile[cardRow](filepath.Join(l.out, want[1]))
	if err != nil {
		return err
	}
	crawls, err := parquet.ReadFile[crawlRow](filepath.Join(l.out, want[2]))
	if err != nil {
		return err
	}
	l.checkTotals(totals)
	l.checkCards(cards)
	entries := int64(len(l.list))
	if want := (crawlRow{entries, l.resumed, entries, int64(len(cards))}); !slices.Equal(crawls, []crawlRow{want}) {
		l.fault("the rows of crawls are %v, want %v", crawls, want)
	}
	return nil
}

// checkTotals: how entries ended, as the sink was told it, is compared with the
// truth one by one; here the published totals are compared with the whole.
func (l *lives) checkTotals(rows []siteTotal) {
	sites := map[verdict]int64{}
	for _, v := range l.final {
		sites[v]++
	}
	if len(l.final) != len(l.list) {
		l.fault("P13: %d of %d entries ended", len(l.final), len(l.list))
	}
	for _, row := range rows {
		v := verdict{row.Outcome, row.Reason}
		if sites[v] -= row.Sites; sites[v] == 0 {
			delete(sites, v)
		}
	}
	if len(sites) > 0 {
		l.fault("P13: the totals differ from the entries by %v", sites)
	}
}

func (l *lives) checkCards(rows []cardRow) {
	sent := map[string]int{} // URL to status
	for _, e := range l.web.Log() {
		if e.Kind == simweb.KindRequest {
			sent[e.Origin+e.Path] = e.Status
		}
	}
	publishers := map[int64]string{}
	for rank, v := range l.final {
		if v.outcome == "card" {
			publishers[rank] = l.list[rank-1].Domain
		}
	}
	for _, row := range rows {
		if publishers[row.Rank] != row.Site {
			l.fault("P10: a row of %d %s, which ended as %v", row.Rank, row.Site, l.final[row.Rank])
		}
		delete(publishers, row.Rank)
		if row.CardJSON == nil || len(*row.CardJSON) > cardLimit || row.BodyBytes > cardLimit {
			l.fault("P8: a card of %d bytes in the row of %s", row.BodyBytes, row.Site)
		}
		if status, ok := sent[row.CardURL]; !ok || int32(status) != row.Status {
			l.fault("the card of %s is from %s with status %d; the web answered that with %d", row.Site, row.CardURL, row.Status, status)
		}
	}
	if len(publishers) > 0 {
		l.fault("P15: the rows of %v are lost", publishers)
	}
}

// remains are what a state file says of entries.
type remains struct {
	begun, ended map[int64]bool
	rows         []int64 // entries of which a row is kept
}

// readRemains reads a state file as the database that it is, by the layout that
// package state documents: two bits an entry, begun and ended, in chunks of
// 4,096 entries; rows by table and rank. That the file is whole is for the
// crawl's next run to see.
func readRemains(path string) (r remains, err error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	r.begun, r.ended = map[int64]bool{}, map[int64]bool{}
	return r, db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			return b.ForEach(func(key, value []byte) error {
				switch {
				case string(name) == "progress":
					first := int64(binary.BigEndian.Uint32(key))*4096 + 1
					for i := range int64(4 * len(value)) {
						bits := value[i/4] >> (2 * (i % 4))
						r.begun[first+i], r.ended[first+i] = bits&1 != 0, bits&2 != 0
					}
				case strings.HasPrefix(string(name), "rows:"):
					r.rows = append(r.rows, int64(binary.BigEndian.Uint64(key)))
				}
				return nil
			})
		})
	})
}
