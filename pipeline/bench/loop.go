package bench

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"agentcensus/pipeline"
	"agentcensus/signing"
)

// slots is how many requests every client has in flight at most.
const slots = 60

const userAgent = "agentcensus/1.0 (+https://bot.example/about)"

// unsigned is the yardstick that a person would write first: 60 goroutines
// of net/http with keep-alive that ask each site for the three paths, read
// what comes and keep nothing. It follows no redirects, as the web that it is
// measured on has none.
func unsigned(ctx context.Context, t Task, _ func(Sample) error) (Report, error) {
	return runLoop(ctx, t, nil)
}

// polite is the same loop with signed requests, which stops at a site whose
// robots.txt failed.
func polite(ctx context.Context, t Task, _ func(Sample) error) (Report, error) {
	s, err := newSigner()
	if err != nil {
		return Report{}, err
	}
	return runLoop(ctx, t, s)
}

// newSigner makes a signer with a key of this process.
func newSigner() (*signing.Signer, error) {
	k, err := signing.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	keys, err := signing.NewKeySet(k)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return signing.NewSigner(signing.Options{Keys: keys, Agent: "https://bot.example", Now: time.Now, Rand: rand.Reader})
}

// loop is one of its goroutines. A Transport of its own lets it close a
// site's connection without touching the others'.
type loop struct {
	client    *http.Client
	transport *http.Transport
	signer    *signing.Signer // nil: unsigned and not polite
	requests  *atomic.Int64
}

// runLoop asks every site of t once.
func runLoop(ctx context.Context, t Task, s *signing.Signer) (Report, error) {
	d := &dialer{Reach: t.Reach}
	roots, err := d.pool()
	if err != nil {
		return Report{}, err
	}
	var next, requests, failed atomic.Int64
	begun := time.Now()
	var g errgroup.Group
	for range slots {
		l := &loop{signer: s, requests: &requests, transport: &http.Transport{
			DialContext:     d.named(),
			TLSClientConfig: &tls.Config{RootCAs: roots, NextProtos: []string{"http/1.1"}},
		}}
		l.client = &http.Client{
			Transport: l.transport, Timeout: requestTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		g.Go(func() error {
			for n := next.Add(1); n <= int64(t.Sites); n = next.Add(1) {
				answered, err := l.site(ctx, siteName(int(n)))
				if err != nil {
					return err
				}
				if !answered {
					failed.Add(1)
				}
			}
			return nil
		})
	}
	err = g.Wait()
	ended := time.Now()
	return Report{
		Sites: int64(t.Sites), Requests: requests.Load(), Failed: failed.Load(),
		Wall: ended.Sub(begun), Blocked: d.hung.until(ended),
	}, err
}

// site asks the three paths of one site and says whether robots.txt was
// answered. The error is the loop's own.
func (l *loop) site(ctx context.Context, host string) (answered bool, err error) {
	defer l.transport.CloseIdleConnections()
	for i, path := range [...]string{pipeline.RobotsPath, pipeline.CardPath, pipeline.LegacyCardPath} {
		status, err := l.get(ctx, host, path)
		if err != nil {
			return answered, err
		}
		if i == 0 {
			answered = status != 0
			if l.signer != nil && (status == 0 || status == http.StatusTooManyRequests || status >= 500) {
				return answered, nil
			}
		}
	}
	return answered, nil
}

// get makes one request and reads its body. The status is 0 when no answer
// came.
func (l *loop) get(ctx context.Context, host, path string) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+path, nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("User-Agent", userAgent)
	if l.signer != nil {
		if err := l.signer.Sign(r.Header, http.MethodGet, host, path); err != nil {
			return 0, err
		}
	}
	l.requests.Add(1)
	resp, err := l.client.Do(r)
	if err != nil {
		return 0, ctx.Err() // the site's fault, unless ctx ended
	}
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, pipeline.MaxRobotsBody))
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return 0, ctx.Err()
	}
	return resp.StatusCode, nil
}
