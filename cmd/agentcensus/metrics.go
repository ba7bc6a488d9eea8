package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"agentcensus/pipeline"
	"agentcensus/pipeline/fetch"
)

// metrics are what --metrics serves. They are always counted and only served
// when asked for; they name no site.
type metrics struct {
	registry     *prometheus.Registry
	sites        *prometheus.CounterVec
	requests     *prometheus.CounterVec
	cards        prometheus.Counter
	slotWait     prometheus.Histogram
	lookups      *prometheus.HistogramVec
	commits      prometheus.Histogram
	reloadErrors prometheus.Counter
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		sites: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "agentcensus_sites_total", Help: "Sites settled in this run, by outcome."}, []string{"outcome"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "agentcensus_requests_total", Help: "Requests sent, by path as first asked and last status (0: no answer)."}, []string{"path", "status"}),
		cards: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "agentcensus_cards_total", Help: "Cards found in this run."}),
		slotWait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "agentcensus_slot_wait_seconds", Help: "Time a request waited for a slot.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 8)}),
		lookups: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "agentcensus_dns_seconds", Help: "Time of DNS look-ups, by result.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 8)}, []string{"result"}),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "agentcensus_state_commit_seconds", Help: "Time of commits of the crawl's state.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 8)}),
		reloadErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "agentcensus_opt_out_reload_errors_total", Help: "Reloads of the opt-out file that met an error."}),
	}
	m.registry.MustRegister(m.sites, m.requests, m.cards, m.slotWait, m.lookups, m.commits, m.reloadErrors)
	return m
}

// observe counts what the exchange tells.
func (m *metrics) observe(e fetch.Event) {
	switch e.Kind {
	case fetch.SlotWait:
		m.slotWait.Observe(e.Duration.Seconds())
	case fetch.Lookup:
		result := string(e.Err)
		if result == "" {
			result = "ok"
		}
		m.lookups.WithLabelValues(result).Observe(e.Duration.Seconds())
	}
}

// settled counts a site's result.
func (m *metrics) settled(r pipeline.Result) {
	m.sites.WithLabelValues(string(r.Outcome)).Inc()
	if r.Card != nil {
		m.cards.Inc()
	}
	for _, f := range r.Fetches {
		m.requests.WithLabelValues(f.Path, strconv.Itoa(f.HTTPStatus)).Add(float64(f.Requests))
	}
}

// committed counts a commit of the state.
func (m *metrics) committed(took time.Duration) { m.commits.Observe(took.Seconds()) }

// gauge adds a number that is read when asked for.
func (m *metrics) gauge(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// listenForMetrics takes the address of --metrics, if there is one.
func listenForMetrics(addr string) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, usagef("--metrics %s: %w", addr, err)
	}
	return l, nil
}

// serve answers /metrics and /healthz on l until end is called.
func (m *metrics) serve(l net.Listener) (end func() error) {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Write([]byte("crawling\n")) //nolint:errcheck // the client has gone
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err := server.Shutdown(ctx)
		if e := <-served; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
		return err
	}
}
