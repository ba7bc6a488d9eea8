package bench

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"agentcensus/pipeline"
	"agentcensus/pipeline/fetch"
)

// canned is an exchange without sockets: every site has the same robots.txt
// and no card, but every so many publish one of 20 KB, each its own. What a
// crawl costs over it is the pipeline's own, with the little that making
// those cards takes.
type canned struct{ cardEvery int }

// cardSize is how long a card at least is, in bytes.
const cardSize = 20_000

// inMemory crawls a canned web.
func inMemory(ctx context.Context, t Task, sample func(Sample) error) (Report, error) {
	x := &canned{cardEvery: t.CardEvery}
	return crawl(ctx, t, int64(t.Sites), madeUp(t.Sites), func() pipeline.Exchange { return x }, sample)
}

const cannedRobots = "User-agent: *\nDisallow: /admin/\nDisallow: /cart\nAllow: /\n\nSitemap: https://shop.example/sitemap.xml\n"

var (
	textHeader = http.Header{"Content-Type": {"text/plain"}, "Server": {"canned"}}
	cardHeader = http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"max-age=3600"}, "Etag": {`"1"`}}
)

func (*canned) Resolve(context.Context, string) error { return nil }

func (*canned) Known(*url.URL) (fetch.Answer, bool) { return fetch.Answer{}, false }

func (*canned) Close() {}

// Fetch asks for permission as fetch.Visit does and answers at once.
func (x *canned) Fetch(ctx context.Context, r fetch.Request) fetch.Answer {
	if err := r.Permit(ctx, r.URL, 0); err != nil {
		return fetch.Answer{URL: r.URL, Err: &fetch.Error{Kind: fetch.Refused, Err: err}}
	}
	a := fetch.Answer{
		URL: r.URL, Status: http.StatusNotFound, Header: textHeader, Body: []byte("not found\n"),
		Requests: 1, Elapsed: time.Millisecond, Latency: time.Millisecond, At: time.Now(),
		Hops: []fetch.Hop{{URL: r.URL, Status: http.StatusNotFound}},
	}
	switch {
	case r.URL.Path == pipeline.RobotsPath:
		a.Status, a.Body = http.StatusOK, []byte(cannedRobots)
	case r.URL.Path == pipeline.CardPath && x.publishes(r.URL.Host):
		a.Status, a.Header, a.Body = http.StatusOK, cardHeader, sampleCard(siteNumber(r.URL.Host), cardSize)
	}
	a.BodyBytes = int64(len(a.Body))
	return a
}

func (x *canned) publishes(host string) bool {
	return x.cardEvery > 0 && siteNumber(host)%x.cardEvery == 0
}
