package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"agentcensus/cmd/internal/built"
	"agentcensus/pipeline"
	"agentcensus/pipeline/fetch"
	"agentcensus/pipeline/robots"
	"agentcensus/pipeline/simweb"
	"agentcensus/signing"
	"agentcensus/sink"
	progress "agentcensus/sink/state"
	"agentcensus/sources"
)

// runFlags are the flags that crawl and recheck share.
type runFlags struct {
	out, config string
	inFlight    int
	resolvers   []string
	abandon     bool
	metrics     string
	asJSON      bool
	logJSON     bool
	verbose     bool
	aids        aids
}

func (f *runFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.out, "out", "census", "the output `directory`")
	addConfigFlag(c, &f.config)
	fl.Func("in-flight", "at most `N` requests in flight over all sites, 1 to 60 (default: limits.in_flight, else 60)", func(text string) (err error) {
		if f.inFlight, err = strconv.Atoi(text); err != nil {
			return fmt.Errorf("%q is no number", text)
		}
		return checkInFlight("", f.inFlight)
	})
	fl.Func("resolver", "a DNS server as `IP:PORT`; may be repeated (default: resolvers, else the system's)", func(text string) error {
		f.resolvers = append(f.resolvers, text)
		return checkResolver(text)
	})
	fl.BoolVar(&f.abandon, "abandon", false, "discard the unfinished crawl of this kind and start anew")
	fl.StringVar(&f.metrics, "metrics", "", "serve Prometheus metrics and /healthz on `ADDR`, such as 127.0.0.1:9100")
	fl.BoolVar(&f.asJSON, "json", false, "print the summary as JSON; {\"nothing_to_do\":...} where there is none")
	fl.BoolVar(&f.logJSON, "log-json", false, "log as JSON")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "log more; the log then names sites")
	fl.StringVar(&f.aids.caFile, "ca-file", "", "trust the certificate authorities in this PEM `file` alone")
	fl.StringVar(&f.aids.connectTo, "connect-to", "", "connect to `HOST:PORT` whatever the address; with :PORT the port changes alone, and only addresses of --allow-address are dialled")
	fl.StringArrayVar(&f.aids.allow, "allow-address", nil, "let a non-public `CIDR` through; may be repeated")
	groupAids(c, "ca-file", "connect-to", "allow-address")
}

// runner is one run of a crawl, of whatever kind: what it is put together
// from and what it tells while it goes.
type runner struct {
	streams  streams
	flags    runFlags
	kind     sink.Kind
	config   *config
	identity *identity
	web      web
	said     *messages
	log      *slog.Logger

	optOut     *liveOptOut
	suppressed suppressions
	// simulated is the web of a simulated crawl, nil of a real one.
	simulated *simweb.Web
	replace   bool
	clock     signing.ClockWatch
	// weekly is what a weekly crawl adds, nil in others.
	weekly *weekly
	// lock is the output directory's, from the first look at it until a crawl
	// is opened there: nobody else may begin one in between.
	lock *sink.Lock
	// scraped listens for --metrics until they are served; nil without it.
	scraped net.Listener
	// now dates crawls and tells their periods.
	now func() time.Time
}

// newRunner reads the configuration and everything it names. Nothing is
// written and nothing sent yet.
func newRunner(s streams, f runFlags, kind sink.Kind, simulated bool) (*runner, error) {
	if err := checkOut(f.out); err != nil {
		return nil, err
	}
	if f.metrics != "" && checkHostPort(f.metrics) != nil {
		return nil, usagef("--metrics %s: write HOST:PORT, such as 127.0.0.1:9100", f.metrics)
	}
	c, err := loadConfig(f.config)
	if err != nil {
		return nil, err
	}
	if err := c.takeInFlight(f.inFlight); err != nil {
		return nil, err
	}
	if len(f.resolvers) > 0 {
		c.Resolvers = f.resolvers
	}
	said := &messages{out: s.err}
	r := &runner{streams: s, flags: f, kind: kind, config: c, said: said, log: newLog(said, f.logJSON, f.verbose), now: time.Now}
	if r.web, err = f.aids.divert(c.Resolvers); err != nil {
		return nil, err
	}
	switch {
	case simulated, f.aids.private(c.Resolvers) && len(c.Signing.Keys) == 0:
		r.identity, err = simulatedIdentity(c)
	default:
		if err = c.requireIdentity(); err == nil {
			r.identity, err = identify(c)
		}
	}
	if err != nil {
		return nil, err
	}
	if r.optOut, err = loadOptOut(c.OptOut, r.log); err != nil {
		return nil, err
	}
	if r.suppressed, err = loadSuppressed(c.Suppressed, f.out); err != nil {
		return nil, usagef("suppressed: %w", err)
	}
	return r, nil
}

// close ends what the runner started.
func (r *runner) close() {
	if r.scraped != nil {
		r.warn(r.scraped.Close())
	}
	if r.lock != nil {
		r.warn(r.lock.Release())
	}
	if r.simulated != nil {
		r.warn(r.simulated.Close())
	}
}

// warn logs what went wrong on the way out, where no result depends on it.
func (r *runner) warn(err error) {
	if err != nil {
		r.log.Warn("tidying up", "err", err)
	}
}

// unfinished looks for a crawl of this kind to go on with; an error says that
// there is nothing to do, or that nothing can be done now. From here on the
// output directory is locked.
func (r *runner) unfinished() (*sink.Header, error) {
	var err error
	if r.lock, err = sink.AcquireLock(r.flags.out, string(r.kind), r.now()); err != nil || r.flags.abandon {
		return nil, err
	}
	h, err := r.lock.Unfinished(r.kind)
	if err != nil || h != nil {
		return h, err
	}
	return nil, sink.Complete(r.flags.out, r.kind, r.now())
}

// heapLimit is what Go may take in bytes: with the program and the mapped state
// file a crawl of a million names stays under 100 MB. The collector is to run
// for that limit alone (measured in pipeline/bench).
const (
	heapLimit   = 56 << 20
	heapPercent = 800
)

// run crawls the list and writes the tables.
func (r *runner) run(ctx context.Context, l *listing, settings map[string]string) error {
	if r.simulated == nil { // the simulated web shares the process and has needs of its own
		debug.SetMemoryLimit(heapLimit)
		debug.SetGCPercent(heapPercent)
	}
	m := newMetrics()
	r.optOut.failed = m.reloadErrors.Inc
	// Under the lock: where the crawl runs already, its own program listens.
	var err error
	if r.scraped, err = listenForMetrics(r.flags.metrics); err != nil {
		l.discard()
		return err
	}
	stop := newStopper(r.said)
	defer stop.release()
	lock := r.lock
	r.lock = nil
	crawl, err := sink.OpenCrawl(ctx, sink.Options{
		Out: r.flags.out, Lock: lock, Kind: r.kind, Now: r.now, List: l.info, RankOf: l.rankOf, Settings: settings,
		Simulated: r.notReal(), Abandon: r.flags.abandon, Replace: r.replace, Committed: m.committed,
		Vouched: r.weekly.hasCanaries(),
	})
	if err != nil {
		l.discard()
		return r.refused(err)
	}
	defer func() { r.warn(crawl.Close()) }()
	if l.keep != nil {
		if err := l.keep(); err != nil {
			return r.stopped(crawl, err)
		}
	}

	x, err := r.web.open(r.identity.userAgent, r.identity.signer, *r.config.Limits.InFlight, m.observe)
	if err != nil {
		return err
	}
	defer func() { r.warn(x.close()) }()

	k := &keeper{crawl: crawl, suppressed: r.suppressed.Covers, metrics: m, log: r.log, stopped: stop.wasAsked}
	if r.weekly != nil {
		if err := r.weekly.begin(ctx, crawl, x, k); err != nil {
			return r.stopped(crawl, err)
		}
	}
	counts := new(pipeline.Progress)
	end, err := r.tell(ctx, crawl, x, counts, m)
	if err != nil {
		return err
	}
	err = pipeline.Run(ctx, pipeline.Config{
		Sites: l.sites, Skip: crawl.Skip, OptOut: r.optOut,
		Open:  func() pipeline.Exchange { return x.client.Open() },
		Sink:  k,
		Slots: *r.config.Limits.InFlight, Tokens: r.identity.tokens, RobotsMode: robots.Mode(r.config.Robots.Policy),
		Stop: stop.asked, Progress: counts, Answered: r.watchClock,
	})
	end()
	r.checkClock()
	if err == nil && k.vouch != nil {
		err = k.vouch(ctx)
	}
	var none *noCanaryError
	_, asked := stop.wasAsked()
	switch {
	case errors.As(err, &none):
		return r.stopped(crawl, none)
	case err != nil:
		return r.stopped(crawl, err)
	case asked:
		return r.stopped(crawl, errors.Join(errors.New("a signal asked it to"), k.drained(ctx)))
	}
	return r.finish(ctx, crawl)
}

// tell starts what tells of the crawl while it goes: the live line or the
// log, the status file, and the metrics when they are asked for. The returned
// function ends it.
func (r *runner) tell(ctx context.Context, crawl *sink.Crawl, x *exchange, p *pipeline.Progress, m *metrics) (end func(), err error) {
	h := crawl.Header()
	m.gauge("agentcensus_in_flight", "Requests in flight.", func() float64 { return float64(x.slots.inFlight()) })
	m.gauge("agentcensus_open_sites", "Sites begun and not settled.", func() float64 { return float64(p.Snapshot().Open) })
	m.gauge("agentcensus_clock_ahead_seconds", "Median difference of this clock to the servers'.", func() float64 {
		off, _ := r.clock.Median()
		return off.Seconds()
	})
	banner(r.streams.err)
	doing := "begin"
	if crawl.Resumed() {
		doing = "go on with"
	}
	if !isTerminal(r.streams.err) {
		r.log.Info(doing+" the crawl", "kind", r.kind, "crawl", crawl.Date(), "sites", h.List.Entries, "settled", crawl.Settled(),
			"list", h.List.Source, "list_id", h.List.ListID, "in_flight", *r.config.Limits.InFlight, "simulated", h.Simulated)
	}
	earlier, err := crawl.Totals()
	if err != nil {
		return nil, err
	}
	endMetrics := func() error { return nil }
	if r.scraped != nil {
		r.log.Info("serving metrics", "addr", r.scraped.Addr().String())
		endMetrics = m.serve(r.scraped)
		r.scraped = nil
	}
	w := &watcher{
		out: r.streams.err, log: r.log, dir: r.flags.out, kind: r.kind, date: crawl.Date(), simulated: h.Simulated, started: time.Now(),
		entries: h.List.Entries, before: crawl.Settled(), earlier: earlier, progress: p, inFlight: x.slots.inFlight, everyMinute: r.checkClock, said: r.said,
	}
	watching, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.run(watching)
	}()
	return func() {
		stop()
		<-done
		r.warn(endMetrics())
	}, nil
}

// finish writes the tables and says what the crawl came to.
func (r *runner) finish(ctx context.Context, crawl *sink.Crawl) error {
	facts := sink.Facts{UserAgent: r.identity.userAgent, KeyID: r.identity.keyID, SoftwareVersion: built.Version()}
	if r.weekly != nil {
		facts.MissingCheck, facts.OmitCheck = r.weekly.missing, r.weekly.omit
	}
	sum, err := crawl.Finish(ctx, facts)
	if err != nil {
		return r.stopped(crawl, fmt.Errorf("write the tables: %w", err))
	}
	return r.summarise(sum)
}

// settings are what must not change while any crawl goes on.
func (r *runner) settings() map[string]string {
	return map[string]string{
		"robots.policy": r.config.Robots.Policy,
		"bot.tokens":    strings.Join(r.identity.tokens, " "),
	}
}

// notReal says whether the answers do not come from the public web.
func (r *runner) notReal() bool {
	return r.simulated != nil || r.flags.aids.connectTo != "" || len(r.flags.aids.allow) > 0
}

// watchClock compares the own clock with a server's.
func (r *runner) watchClock(a fetch.Answer) {
	if date := a.Header.Get("Date"); date != "" && a.Header.Get("Age") == "" {
		r.clock.Observe(date, a.At.Add(a.Latency))
	}
}

// clockTolerance is how far the own clock may be off: strict verifiers refuse
// a signature dated ahead.
const (
	clockTolerance = time.Second
	clockSamples   = 20
)

// checkClock warns when the clock is off.
func (r *runner) checkClock() {
	if off, n := r.clock.Median(); n >= clockSamples && off.Abs() > clockTolerance {
		r.log.Warn("this machine's clock differs from the servers' by more than a second: strict verifiers refuse signatures dated ahead; set it by NTP",
			"ahead_by", off.Round(time.Millisecond).String(), "answers", n)
	}
}

// refused says why no crawl was opened, and with which exit status.
func (r *runner) refused(err error) error {
	var (
		locked   *sink.LockedError
		complete *sink.CompleteError
		exists   *sink.ExistsError
		settings *sink.SettingsError
		mixed    *sink.MixedError
		unread   *sink.UnreadableError
		broken   *progress.Error
	)
	switch {
	case errors.As(err, &locked):
		if locked.Kind == string(r.kind) {
			return r.nothingToDo(err)
		}
		return &exitError{exitResumable, fmt.Errorf("%w; start this one again later", err)}
	case errors.As(err, &complete):
		return r.nothingToDo(err)
	case errors.As(err, &exists):
		return usagef("%w; --replace replaces it", err)
	case errors.As(err, &settings):
		return usagef("%w (--abandon)", err)
	case errors.As(err, &unread) && errors.Is(err, fs.ErrPermission):
		return usagef("%w; go on with the crawl as the user who began it", err)
	case errors.As(err, &unread):
		return whenItPasses(err)
	case errors.As(err, &mixed), errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist),
		errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		return usagef("%w; name another directory with --out", err)
	case errors.As(err, &broken):
		return fmt.Errorf("%w (--abandon)", err)
	}
	return whenItPasses(err)
}

// nothingToDo says why a run ends at once, and well.
func (r *runner) nothingToDo(reason error) error {
	if r.flags.asJSON {
		return encodeLine(r.streams.out, map[string]string{"nothing_to_do": reason.Error()})
	}
	fmt.Fprintf(r.streams.out, "%v; nothing to do\n", reason)
	return nil
}

// whenItPasses makes an error that is this machine's for the moment, a full disk
// say, one after which the same command goes on.
func whenItPasses(err error) error {
	for _, errno := range []syscall.Errno{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM,
	} {
		if errors.Is(err, errno) {
			return &exitError{exitResumable, fmt.Errorf("%w\nonce that has been seen to, the same command goes on", err)}
		}
	}
	return err
}

// stopped commits what is done and says how to go on.
func (r *runner) stopped(crawl *sink.Crawl, reason error) error {
	r.log.Debug("the crawl stops", "err", reason)
	reason = unnamed(reason)
	settled := crawl.Settled()
	err := r.tellStopped(crawl, reason)
	// A commit that failed is what stopped the crawl, as a rule.
	if e := crawl.Close(); e != nil && !strings.Contains(reason.Error(), e.Error()) {
		err = errors.Join(err, e)
	}
	same := "the same command"
	if r.flags.abandon {
		same += " without --abandon"
	}
	return &exitError{exitResumable, errors.Join(fmt.Errorf(
		"the %s crawl of %s stopped after %d of %d sites: %w\n%s goes on with it",
		r.kind, crawl.Date(), settled, crawl.Header().List.Entries, reason, same), err)}
}

// tellStopped writes into the status file what came of the sites until now.
func (r *runner) tellStopped(crawl *sink.Crawl, reason error) error {
	totals, err := crawl.Totals()
	if err != nil {
		return err
	}
	st, err := sink.ReadStatus(r.flags.out)
	if err != nil || st.Kind != string(r.kind) || st.Date != crawl.Date() { // stopped before its first second
		h := crawl.Header()
		st = sink.Status{Kind: string(r.kind), Date: crawl.Date(), Simulated: h.Simulated, Started: r.now().UTC(), Entries: h.List.Entries}
	}
	st.Running, st.Reason, st.Updated = false, reason.Error(), r.now().UTC()
	st.InFlight, st.Open, st.Rate = 0, 0, 0
	st.Settled, st.Outcomes, st.Requests = crawl.Settled(), outcomesOf(totals), totals.Fetches().Requests
	st.Cards = st.Outcomes[string(pipeline.OutcomeCard)]
	return sink.WriteStatus(r.flags.out, st)
}

// outcomesOf are the sites of totals by outcome.
func outcomesOf(t *sink.Totals) map[string]int64 {
	m := make(map[string]int64)
	for _, o := range pipeline.Outcomes {
		if n := t.Sites(string(o)); n > 0 {
			m[string(o)] = n
		}
	}
	return m
}

// suppressions are the lists of domains of which no row is kept: the configured
// one and the one beside the tables, which 'forget' writes when none is
// configured. Both count, so that none is lost with a change of the
// configuration.
type suppressions []*sources.OptOut

func (s suppressions) Covers(host string) bool {
	return slices.ContainsFunc(s, func(list *sources.OptOut) bool { return list.Covers(host) })
}

func loadSuppressed(path, out string) (suppressions, error) {
	var lists suppressions
	for _, file := range slices.Compact([]string{suppressedPath(path, out), suppressedPath("", out)}) {
		list, err := sources.LoadSuppressed(file)
		if err != nil {
			return nil, err
		}
		lists = append(lists, list)
	}
	return lists, nil
}

func suppressedPath(path, out string) string {
	if path == "" {
		return filepath.Join(out, "suppressed.txt")
	}
	return path
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
