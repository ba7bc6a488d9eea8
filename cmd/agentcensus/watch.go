package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/common-nighthawk/go-figure"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"agentcensus/pipeline"
	"agentcensus/sink"
)

// How often a running crawl says how it goes: to cron's log, and to the
// status file and the terminal.
const (
	logEvery    = time.Minute
	statusEvery = time.Second
)

// barWidth leaves room for the numbers of a million sites in 80 columns.
const barWidth = 10

// watcher tells how a crawl goes: a live line on a terminal, a log line a
// minute elsewhere, and the status file.
type watcher struct {
	out       io.Writer
	log       *slog.Logger
	dir       string // of the census
	kind      sink.Kind
	date      string
	simulated bool
	started   time.Time // of this run
	entries   int64     // of the list
	before    int64     // settled by earlier runs
	earlier   *sink.Totals
	progress  *pipeline.Progress
	inFlight  func() int64
	// everyMinute is what else is to be looked at now and then.
	everyMinute func()
	// said is where messages go.
	said *messages
}

// banner is for a person at a terminal.
func banner(out io.Writer) {
	if !isTerminal(out) {
		return
	}
	figure.Write(out, figure.NewFigure("agentcensus", "small", true))
	fmt.Fprintln(out)
}

// run tells until ctx ends.
func (w *watcher) run(ctx context.Context) {
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	show, end := w.terminal()
	defer end()
	rate := newRate(w.started)
	lastLog := w.started
	for {
		var now time.Time
		select {
		case <-ctx.Done():
			return
		case now = <-tick.C:
		}
		snap := w.progress.Snapshot()
		rate.add(now, snap.Settled)
		st := w.status(snap, rate.perSecond())
		if err := sink.WriteStatus(w.dir, st); err != nil {
			w.log.Warn("the status file could not be written", "err", err)
		}
		show(st)
		if now.Sub(lastLog) >= logEvery {
			lastLog = now
			w.everyMinute()
			if isTerminal(w.out) {
				continue
			}
			w.log.Info("crawling", "sites", st.Settled, "of", st.Entries, "sites_per_second", round1(st.Rate),
				"in_flight", st.InFlight, "cards", st.Cards, "remaining", st.Remaining().Round(time.Second).String())
		}
	}
}

// status is this moment of the crawl: totals, no site.
func (w *watcher) status(s pipeline.Snapshot, rate float64) sink.Status {
	st := sink.Status{
		Kind: string(w.kind), Date: w.date, Simulated: w.simulated, Running: true, Updated: time.Now().UTC(), Started: w.started.UTC(),
		Entries: w.entries, Settled: w.before + s.Settled, Requests: w.earlier.Fetches().Requests + s.Requests,
		Open: s.Open, InFlight: w.inFlight(), Rate: rate, Outcomes: outcomesOf(w.earlier),
	}
	for o, n := range s.Outcomes {
		st.Outcomes[string(o)] += n
	}
	st.Cards = st.Outcomes[string(pipeline.OutcomeCard)]
	return st
}

// terminal gives the live line and what ends it; away from a terminal both do
// nothing.
func (w *watcher) terminal() (show func(sink.Status), end func()) {
	if !isTerminal(w.out) {
		return func(sink.Status) {}, func() {}
	}
	var last atomic.Pointer[sink.Status] // drawn by a goroutine of mpb
	last.Store(new(w.status(w.progress.Snapshot(), 0)))
	p := mpb.New(mpb.WithOutput(w.out), mpb.WithWidth(barWidth), mpb.WithAutoRefresh())
	bar := p.AddBar(w.entries,
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string {
			s := last.Load()
			return fmt.Sprintf("%d of %d sites ", s.Settled, s.Entries)
		})),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			s := last.Load()
			left := "?"
			if d := s.Remaining(); d > 0 {
				left = d.Round(time.Second).String()
			}
			return fmt.Sprintf(" %.0f sites/s, %d in flight, %d cards, %s left", s.Rate, s.InFlight, s.Cards, left)
		})))
	w.said.live(p)
	show = func(s sink.Status) {
		last.Store(&s)
		bar.SetCurrent(s.Settled)
	}
	end = func() {
		snap := w.progress.Snapshot()
		show(w.status(snap, float64(snap.Settled)/time.Since(w.started).Seconds()))
		w.said.live(nil)
		bar.Abort(false)
		p.Wait()
	}
	return show, end
}

// rate is how many sites a second were settled over the last minute.
type rate struct {
	at    []time.Time
	count []int64
}

func newRate(start time.Time) *rate { return &rate{[]time.Time{start}, []int64{0}} }

func (r *rate) add(now time.Time, settled int64) {
	r.at, r.count = append(r.at, now), append(r.count, settled)
	for len(r.at) > 2 && now.Sub(r.at[0]) > time.Minute {
		r.at, r.count = r.at[1:], r.count[1:]
	}
}

func (r *rate) perSecond() float64 {
	last := len(r.at) - 1
	took := r.at[last].Sub(r.at[0]).Seconds()
	if took <= 0 {
		return 0
	}
	return float64(r.count[last]-r.count[0]) / took
}

func round1(f float64) float64 { return float64(int64(f*10+0.5)) / 10 }
