package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"agentcensus/pipeline"
	"agentcensus/pipeline/fetch"
	"agentcensus/sink"
	"agentcensus/sources"
)

// canaryAfter is how many publishers may end without an answer, one after the
// other or not, before the canaries are asked what to make of it.
const canaryAfter = 20

// canaries are URLs on origins of the operator's own. One that answers shows
// that the network here is there; when none does, nobody is blamed. They are
// asked for themselves alone and as often as need be, the one exception to P1
// to P3, and like everybody under P4, P7, P8 and P9.
type canaries []*url.URL

// parseCanary reads a canary's URL.
func parseCanary(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Port() != "" && u.Port() != "443" {
		return nil, fmt.Errorf("%q: write an https URL on an origin of your own, such as https://status.example.org/up", text)
	}
	host, err := sources.Normalise(u.Hostname())
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	u.Host, u.Fragment = host, ""
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

// openCanaries refuses a canary that is a site of the list, or must not be
// asked. It returns nil when there are none.
func openCanaries(texts []string, ps publishers, optedOut func(host string) bool) (canaries, error) {
	listed := make(map[string]bool, len(ps))
	for _, p := range ps {
		listed[fetch.Site(p.site)] = true
	}
	var cs canaries
	for _, text := range texts {
		u, err := parseCanary(text)
		switch {
		case err != nil:
			return nil, usagef("canaries: %w", err)
		case listed[fetch.Site(u.Host)]:
			return nil, usagef("canaries: %s is a site of the list: a canary must not be asked as a site too; name another origin", u.Host)
		case optedOut(u.Host):
			return nil, usagef("canaries: %s is in the opt-out file and must not be asked", u.Host)
		}
		cs = append(cs, u)
	}
	return cs, nil
}

// noCanaryError says that no canary answered, and why of each.
type noCanaryError struct{ failures []string }

func (e *noCanaryError) Error() string {
	return "no canary answers (" + strings.Join(e.failures, "; ") + "): the fault seems to be here, and no site is blamed"
}

// ask asks the canaries one after the other until one answers with success. It
// returns a *noCanaryError when none does.
func (cs canaries) ask(ctx context.Context, x *exchange) error {
	none := new(noCanaryError)
	for _, u := range cs {
		failure, err := askCanary(ctx, x, u)
		if err != nil {
			return fmt.Errorf("ask the canary %s: %w", u, err)
		}
		if failure == "" {
			return nil
		}
		none.failures = append(none.failures, u.String()+": "+failure)
	}
	return none
}

// askCanary makes one request, redirects included; failure is what went wrong,
// and err that it could not be asked at all.
func askCanary(ctx context.Context, x *exchange, u *url.URL) (failure string, err error) {
	visit := x.client.Open()
	defer visit.Close()
	a := visit.Fetch(ctx, fetch.Request{URL: u, Accept: "*/*", MaxBody: pipeline.MaxCardBody})
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case a.Err != nil && a.Err.Reason != "":
		return fmt.Sprintf("%s (%s)", a.Err.Kind, a.Err.Reason), nil
	case a.Err != nil:
		return string(a.Err.Kind), nil
	case a.Status/100 != 2:
		return fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)), nil
	}
	return "", nil
}

// vouch asks the canaries whether the sites held back may be told as they
// ended. If no canary answers they count as interrupted, and the error stops
// the crawl.
func (cs canaries) vouch(ctx context.Context, x *exchange, crawl *sink.Crawl) error {
	err := cs.ask(ctx, x)
	if err == nil {
		return crawl.Vouch(ctx)
	}
	var none *noCanaryError
	if !errors.As(err, &none) {
		return err
	}
	return errors.Join(err, crawl.Outage(ctx))
}
