package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"agentcensus/pipeline"
	"agentcensus/pipeline/fetch"
)

// canned is an exchange without sockets: every site has the same robots.txt
// and no card, but every so many publish one of 20 KB. What a crawl costs
// over it is the pipeline's own.
type canned struct {
	cardEvery int
	card      []byte // NAME stands for the host
}

// inMemory crawls a canned web.
func inMemory(ctx context.Context, t Task, sample func(Sample) error) (Report, error) {
	x := &canned{cardEvery: t.CardEvery, card: sampleCard(20_000)}
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
		a.Status, a.Header, a.Body = http.StatusOK, cardHeader, bytes.ReplaceAll(x.card, []byte("NAME"), []byte(r.URL.Host))
	}
	a.BodyBytes = int64(len(a.Body))
	return a
}

func (x *canned) publishes(host string) bool {
	return x.cardEvery > 0 && siteNumber(host)%x.cardEvery == 0
}

// sampleCard is a card of at least size bytes whose skills are what makes it
// long. NAME in it stands for the host.
func sampleCard(size int) []byte {
	var b strings.Builder
	b.WriteString(`{"protocolVersion":"0.3.0","name":"Orchard planner of NAME","description":"Plans the days of an orchard.",` +
		`"url":"https://NAME/a2a","preferredTransport":"JSONRPC","version":"1.4.2",` +
		`"provider":{"organization":"Orchards","url":"https://NAME"},"capabilities":{"streaming":true,"pushNotifications":false},` +
		`"defaultInputModes":["text/plain"],"defaultOutputModes":["application/json"],"skills":[`)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		word := fmt.Sprintf("%x", uint64(i+1)*0x9e3779b97f4a7c15)
		fmt.Fprintf(&b, `{"id":"plan-%d","name":"Plan row %d","description":"When the trees of row %s are to be watered, cut and harvested.",`+
			`"tags":["plan","row","%s"],"examples":["Which trees of row %d are ripe, and \"how\" ripe?"]}`, i, i, word, word[:6], i)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}
