package pipeline_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"agentcensus/pipeline"
	"agentcensus/pipeline/fetch"
	"agentcensus/pipeline/resolve"
	"agentcensus/pipeline/robots"
	"agentcensus/pipeline/simweb"
	"agentcensus/signing"
	"agentcensus/sink"
)

// death is how one run of a crawl ends before its time.
type death struct {
	// after so many moments of the run: calls of the sink and returns from it,
	// dials, and answers.
	after int
	// signal closes the intake, and what is open is finished; else the run is
	// killed: nothing that is not on the disk at that moment remains.
	signal bool
}

var errKilled = errors.New("killed")

// commitWithin is P15's second between two commits, and one for a busy disk.
const commitWithin = 2 * time.Second

// lives is one crawl through as many runs as it takes, each but the last
// ended by a death, with what can be known of it from outside.
type lives struct {
	web      *simweb.Web
	list     []pipeline.Site
	ends     []verdict // how the entries end without deaths
	optOut   pipeline.OptOut
	inFlight int
	timeout  time.Duration
	signer   *signing.Signer
	out      string // the output directory
	scratch  string // another one
	// killWriting kills the first run that has come to the writing of tables
	// when all are written but the last.
	killWriting bool
	now         func() time.Time

	final   map[int64]verdict // of the entries that have ended for good
	struck  map[int64]bool    // entries that a death found begun and not ended
	private []string          // names of which no file may tell
	resumed int64
	faults  []string // broken promises that no log tells of

	mu      sync.Mutex // guards metered
	metered []*metered
}

// interrupted is how an entry ends that a death found open.
var interrupted = verdict{"interrupted", "crash"}

func (l *lives) fault(format string, args ...any) {
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// identity is a signer and the judgement of a strict site owner on it.
func identity() (*signing.Signer, simweb.VerifyFunc, error) {
	k, err := signing.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	keys, err := signing.NewKeySet(k)
	if err != nil {
		return nil, nil, err
	}
	const agent = "https://census.example"
	s, err := signing.NewSigner(signing.Options{Keys: keys, Agent: agent, Now: time.Now, Rand: rand.Reader})
	if err != nil {
		return nil, nil, err
	}
	v := signing.NewVerifier(signing.VerifierConfig{Keys: keys.Public(), Agent: agent, Strict: true, Nonces: signing.NewNonceMemory(1 << 12)})
	return s, func(method, authority, path string, h http.Header, received time.Time) string {
		r := signing.Request{Method: method, Scheme: "https", Authority: authority, Path: path, Header: h}
		return string(v.Verify(r, received).Reason)
	}, nil
}

// run crawls until the list is done.
func (l *lives) run(ctx context.Context, deaths []death) error {
	l.final, l.struck, l.now, l.private = map[int64]verdict{}, map[int64]bool{}, time.Now, l.unpublished()
	for _, d := range deaths {
		if done, err := l.live(ctx, &d); done || err != nil {
			return err
		}
	}
	done, err := l.live(ctx, nil)
	if err == nil && !done { // killed while it wrote
		done, err = l.live(ctx, nil)
	}
	if err == nil && !done {
		err = errors.New("a run that nothing ended left the list unfinished")
	}
	return err
}

func (l *lives) statePath() string { return filepath.Join(l.out, ".state", string(sink.Adhoc)+".db") }

func (l *lives) options(committed func(time.Duration)) sink.Options {
	return sink.Options{
		Out: l.out, Kind: sink.Adhoc, Now: func() time.Time { return l.now() }, Simulated: true,
		List: sink.ListInfo{Source: "file", Entries: int64(len(l.list))}, Committed: committed,
	}
}

// live is one run. It says whether the tables are written.
func (l *lives) live(ctx context.Context, d *death) (done bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m := &mortal{death: d, kill: cancel, stop: make(chan struct{}), settled: map[int64]settled{}, disk: disk{path: l.statePath()}}
	crawl, err := sink.OpenCrawl(ctx, l.options(m.disk.committed))
	if err != nil {
		return false, fmt.Errorf("open the crawl: %w", err)
	}
	m.crawl = crawl
	m.disk.committed(0)
	if crawl.Resumed() {
		l.resumed++
	}
	err = l.crawl(ctx, m)
	switch m.cause() {
	case nil:
		if err == nil {
			done, err = l.finish(ctx, m)
		}
		return done, errors.Join(err, crawl.Close())
	case errKilled:
		// What the run did after its death is undone: it never was.
		err = errors.Join(crawl.Close(), os.WriteFile(l.statePath(), m.killed, 0o600), m.disk.err)
	default:
		err = errors.Join(err, crawl.Close())
	}
	if err != nil {
		return false, err
	}
	return false, l.autopsy(m)
}

// crawl is the pipeline's run, over sockets.
func (l *lives) crawl(ctx context.Context, m *mortal) (err error) {
	resolver, err := resolve.New(resolve.Config{Servers: l.web.Resolvers(), Timeout: fetch.DefaultTimeout, InFlight: 4 * l.inFlight})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resolver.Close()) }()
	client, err := fetch.New(fetch.Config{
		UserAgent: "SampleBot/1.0 (+https://bot.example/)", Signer: l.signer, Resolver: resolver, Timeout: l.timeout,
		Slots: semaphore.NewWeighted(int64(l.inFlight)), RootCAs: l.web.Roots(),
		Dial: func(ctx context.Context, addr netip.AddrPort, host string) (net.Conn, error) {
			m.moment()
			return l.dial(ctx, addr, host)
		},
	})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	return pipeline.Run(ctx, pipeline.Config{
		Sites: listed(l.list),
		Skip:  m.crawl.Skip, OptOut: l.optOut, Sink: m, Stop: m.stop,
		Open:  func() pipeline.Exchange { return client.Open() },
		Slots: l.inFlight, Tokens: []string{"agentcensus"}, RobotsMode: robots.RFC9309,
		Answered: func(a fetch.Answer) {
			m.moment()
			mu.Lock()
			defer mu.Unlock()
			l.bodyLimit(a)
		},
	})
}

// bodyLimit is P8 in what the exchange hands over.
func (l *lives) bodyLimit(a fetch.Answer) {
	limit := cardLimit
	if len(a.Hops) > 0 && a.Hops[0].URL.Path == simweb.RobotsPath {
		limit = robotsLimit
	}
	if len(a.Body) > limit {
		l.fault("P8: %d bytes of body handed over for %v", len(a.Body), a.URL)
	}
}

// autopsy opens what a dead run left on the disk and holds it to what the run
// was promised.
func (l *lives) autopsy(m *mortal) error {
	raw, err := os.ReadFile(l.statePath())
	if err != nil {
		return err
	}
	l.namesNone("the state file", raw)
	copied := filepath.Join(l.scratch, "autopsy.db")
	if err := os.WriteFile(copied, raw, 0o600); err != nil {
		return err
	}
	s, err := readRemains(copied)
	if err != nil {
		return fmt.Errorf("read the state after a death: %w", err)
	}
	for _, rank := range m.begun {
		if !s.begun[rank] {
			l.fault("P15: entry %d was let through and is not begun on the disk", rank)
		}
	}
	for _, rank := range s.rows {
		if l.ends[rank-1].outcome != "card" {
			l.fault("P10: the state file has a row of entry %d, which has no card", rank)
		}
	}
	for i := range l.list {
		rank := int64(i + 1)
		r, settled := m.settled[rank]
		_, before := l.final[rank]
		switch {
		case before && !s.ended[rank]:
			l.fault("P15: entry %d, ended in an earlier run, is open again", rank)
		case before && settled:
			l.fault("P13: entry %d was settled again", rank)
		case before:
		case s.ended[rank] && settled:
			l.final[rank] = r.verdict
		case s.ended[rank]:
			l.fault("P13: entry %d ended without a result", rank)
		case settled && r.answered && m.died.Sub(r.at) > commitWithin:
			l.fault("P15: entry %d, settled %v before the death, is lost", rank, m.died.Sub(r.at))
		case s.begun[rank] && m.death.signal && (!settled || r.answered):
			l.fault("P15: entry %d, open at a signal, was not finished and committed", rank)
		case s.begun[rank]:
			l.final[rank], l.struck[rank] = interrupted, true
		}
	}
	for path, err := range l.files() {
		if err != nil || strings.HasSuffix(path, ".parquet") {
			return errors.Join(err, fmt.Errorf("P14: %s is there before the crawl is done", path))
		}
	}
	return nil
}

// finish writes the tables. It says whether the run lived to see them all.
func (l *lives) finish(ctx context.Context, m *mortal) (bool, error) {
	for rank, r := range m.settled {
		if _, before := l.final[rank]; before {
			l.fault("P13: entry %d was settled again", rank)
		}
		l.final[rank] = r.verdict
	}
	killed := ""
	if l.killWriting {
		l.killWriting, killed = false, filepath.Join(l.scratch, "killed")
		// The clock is read for the row in crawls, the last to be written: what
		// a process that is killed then leaves behind is a copy of that moment.
		var once sync.Once
		l.now = func() time.Time {
			once.Do(func() {
				if err := os.CopyFS(killed, os.DirFS(l.out)); err != nil {
					l.fault("cannot copy the output directory: %v", err)
				}
			})
			return time.Now()
		}
	}
	_, err := m.crawl.Finish(ctx, sink.Facts{UserAgent: "SampleBot/1.0"})
	l.now = time.Now
	if killed == "" || err != nil {
		return err == nil, err
	}
	l.out = killed
	published, err := l.published()
	if published != "" {
		l.fault("P14: the crawl is published before its tables are whole")
	}
	return false, err
}

// published is the path of the one file of the table crawls; "" for none.
func (l *lives) published() (found string, err error) {
	for path, err := range l.files() {
		if err != nil {
			return "", err
		}
		if filepath.Base(path) == "crawls.parquet" {
			if found != "" {
				l.fault("P14: a crawl is published as %s and as %s", found, path)
			}
			found = path
		}
	}
	return found, nil
}

// unpublished are the names of the list that no publisher has.
func (l *lives) unpublished() []string {
	publishers := map[string]bool{}
	for i, s := range l.list {
		if l.ends[i].outcome == "card" {
			publishers[strings.TrimPrefix(s.Domain, "www.")] = true
		}
	}
	var names []string
	for _, s := range l.list {
		if !publishers[strings.TrimPrefix(s.Domain, "www.")] {
			names = append(names, s.Domain)
		}
	}
	return names
}

// namesNone is P10 for bytes that are not compressed.
func (l *lives) namesNone(what string, raw []byte) {
	text := string(raw)
	for _, name := range l.private {
		if strings.Contains(text, name) {
			l.fault("P10: %s names %s", what, name)
		}
	}
}

// files yields every file under the output directory.
func (l *lives) files() func(func(string, error) bool) {
	return func(yield func(string, error) bool) {
		err := filepath.WalkDir(l.out, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && !yield(path, nil) {
				return fs.SkipAll
			}
			return err
		})
		if err != nil {
			yield("", err)
		}
	}
}

// disk is the state file as it is after the latest commit: what a process
// that is killed leaves behind, whatever it had in mind.
type disk struct {
	path string

	mu  sync.Mutex
	raw []byte
	err error
}

// committed is called between two commits, before anybody is told of the
// first.
func (d *disk) committed(time.Duration) {
	raw, err := os.ReadFile(d.path)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.raw, d.err = raw, errors.Join(d.err, err)
}

func (d *disk) last() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.raw
}

// settled is a result that was handed to the sink.
type settled struct {
	verdict
	answered bool
	at       time.Time // when the sink had taken it
}

// mortal is the sink of a run that dies. Whatever is called after the death
// has no effect.
type mortal struct {
	crawl *sink.Crawl
	death *death
	kill  context.CancelCauseFunc
	stop  chan struct{}
	disk  disk

	mu      sync.Mutex
	moments int
	died    time.Time
	killed  []byte // the disk at the death
	why     error
	begun   []int64
	settled map[int64]settled
}

// moment is one instant at which the run may die. It says whether it lives.
func (m *mortal) moment() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.moments++
	if m.death != nil && m.why == nil && m.moments > m.death.after {
		m.died = time.Now()
		if m.death.signal {
			m.why = errors.New("signal")
			close(m.stop)
		} else {
			m.why, m.killed = errKilled, m.disk.last()
			m.kill(errKilled)
		}
	}
	return !errors.Is(m.why, errKilled)
}

func (m *mortal) cause() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.why
}

func (m *mortal) Begin(ctx context.Context, sites []pipeline.Site) error {
	if !m.moment() {
		return errKilled
	}
	ranks := make([]int64, len(sites))
	for i, s := range sites {
		ranks[i] = s.Rank
	}
	if err := m.crawl.Begin(ctx, ranks); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if errors.Is(m.why, errKilled) {
		return errKilled
	}
	m.begun = append(m.begun, ranks...)
	return nil
}

func (m *mortal) Settle(ctx context.Context, r pipeline.Result) error {
	if !m.moment() {
		return errKilled
	}
	rec := sink.Record{Entry: r.Site.Rank, Outcome: string(r.Outcome), Reason: r.Reason, Answered: r.Answered(), Neutral: r.Outcome.Ours()}
	for _, f := range r.Fetches {
		rec.Fetches = append(rec.Fetches, sink.FetchRecord{
			Path: f.Path, Outcome: string(f.Outcome), Reason: f.Reason, HTTPStatus: f.HTTPStatus,
			Requests: int64(f.Requests), BodyBytes: f.BodyBytes, Elapsed: f.Elapsed,
		})
	}
	if p := r.Card; p != nil {
		row := sink.NewCard(sink.Published{
			Rank: r.Site.Rank, Site: r.Site.Domain, Path: p.Path, CardURL: p.URL, FetchedAt: p.FetchedAt,
			HTTPStatus: p.Status, Latency: p.Latency, Rule: p.Rule, Body: p.Body,
		}, p.Card)
		rec.Card = &row
	}
	// Noted first: what is on the disk at the death has a result here.
	m.mu.Lock()
	m.settled[r.Site.Rank] = settled{verdict: verdict{string(r.Outcome), r.Reason}, answered: rec.Answered || rec.Neutral, at: time.Now()}
	m.mu.Unlock()
	if err := m.crawl.Settle(ctx, rec); err != nil {
		return err
	}
	m.moment()
	return nil
}
