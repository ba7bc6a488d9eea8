package pipeline

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"sync"
	"time"

	"agentcensus/pipeline/fetch"
)

// page is what the scripted web answers at one URL.
type page struct {
	status   int
	body     string
	location string
	err      *fetch.Error
	header   http.Header
}

// scripted is a web without sockets: pages by URL without the scheme, 404 for
// the rest. It keeps what was asked, in order.
type scripted struct {
	pages map[string]page
	dns   map[string]*fetch.Error

	mu    sync.Mutex
	asked []string
	// onAsk is called before each request.
	onAsk func(url string)
}

func (w *scripted) open() Exchange {
	return &scriptedExchange{web: w, known: map[string]fetch.Answer{}}
}

func (w *scripted) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.asked...)
}

type scriptedExchange struct {
	web   *scripted
	known map[string]fetch.Answer
}

func (x *scriptedExchange) Resolve(_ context.Context, host string) error {
	if err := x.web.dns[host]; err != nil {
		return err
	}
	return nil
}

func (x *scriptedExchange) Known(u *url.URL) (fetch.Answer, bool) {
	a, ok := x.known[u.String()]
	return a, ok
}

func (x *scriptedExchange) Close() {}

func (x *scriptedExchange) Fetch(ctx context.Context, r fetch.Request) fetch.Answer {
	total := fetch.Answer{}
	for u, hop := r.URL, 0; ; hop++ {
		total.URL = u
		one, known := x.known[u.String()]
		if !known {
			if err := r.Permit(ctx, u, hop); err != nil {
				e := err.(*fetch.Error)
				total.Err = e
				return total
			}
			if one, known = x.known[u.String()]; !known { // the permit may have asked it
				one = x.ask(u)
				total.Requests++
			}
		}
		total.Status, total.Header, total.Body, total.Err = one.Status, one.Header, one.Body, one.Err
		total.BodyBytes += int64(len(one.Body))
		location := one.Header.Get("Location")
		if one.Err != nil || location == "" {
			return total
		}
		next, err := u.Parse(location)
		if err != nil || hop == fetch.MaxRedirects || !fetch.SameSite(next.Host, u.Host) {
			total.Err = &fetch.Error{Kind: fetch.RedirectRefused, Reason: "off_site"}
			return total
		}
		u = next
	}
}

// ask makes the one request of u.
func (x *scriptedExchange) ask(u *url.URL) fetch.Answer {
	name := u.Host + u.RequestURI()
	if x.web.onAsk != nil {
		x.web.onAsk(name)
	}
	x.web.mu.Lock()
	x.web.asked = append(x.web.asked, name)
	p, ok := x.web.pages[name]
	x.web.mu.Unlock()
	if !ok {
		p = page{status: http.StatusNotFound}
	}
	a := fetch.Answer{URL: u, Status: p.status, Header: http.Header{}, Body: []byte(p.body), Err: p.err, At: time.Unix(0, 0)}
	for k, v := range p.header {
		a.Header[k] = v
	}
	if p.location != "" {
		a.Status = http.StatusMovedPermanently
		a.Header.Set("Location", p.location)
	}
	x.known[u.String()] = a
	return a
}

// kept is a sink in memory.
type kept struct {
	mu      sync.Mutex
	begun   map[int64]bool
	results map[int64]Result
	fail    func(Result) error
}

func newKept() *kept { return &kept{begun: map[int64]bool{}, results: map[int64]Result{}} }

func (k *kept) Begin(_ context.Context, sites []Site) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range sites {
		k.begun[s.Rank] = true
	}
	return nil
}

func (k *kept) Settle(_ context.Context, r Result) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fail != nil {
		if err := k.fail(r); err != nil {
			return err
		}
	}
	k.results[r.Site.Rank] = r
	return nil
}

// list is a list of usable names.
func list(domains ...string) iter.Seq2[Site, error] {
	return func(yield func(Site, error) bool) {
		for i, d := range domains {
			if !yield(Site{Rank: int64(i + 1), Domain: d}, nil) {
				return
			}
		}
	}
}
