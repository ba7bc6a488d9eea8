package bench

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"agentcensus/pipeline"
)

// bare is the floor: 60 goroutines that make one TLS handshake a site and
// write three GETs over it, without DNS, net/http's client or a signature.
func bare(ctx context.Context, t Task, _ func(Sample) error) (Report, error) {
	d := &dialer{Reach: t.Reach}
	roots, err := d.pool()
	if err != nil {
		return Report{}, err
	}
	var next, requests atomic.Int64
	begun := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	for range slots {
		g.Go(func() error {
			br := bufio.NewReader(nil)
			for n := next.Add(1); n <= int64(t.Sites); n = next.Add(1) {
				if err := bareSite(ctx, d, roots, siteName(int(n)), br); err != nil {
					return fmt.Errorf("site %d: %w", n, err)
				}
				requests.Add(3)
			}
			return nil
		})
	}
	err = g.Wait()
	ended := time.Now()
	return Report{
		Sites: int64(t.Sites), Requests: requests.Load(), Wall: ended.Sub(begun), Blocked: d.hung.until(ended),
	}, err
}

func bareSite(ctx context.Context, d *dialer, roots *x509.CertPool, host string, br *bufio.Reader) (err error) {
	raw, err := d.connect(ctx, d.address(host), host)
	if err != nil {
		return err
	}
	defer raw.Close() //nolint:errcheck // nothing is owed to the peer
	if err := raw.SetDeadline(time.Now().Add(3 * requestTimeout)); err != nil {
		return err
	}
	c := tls.Client(raw, &tls.Config{RootCAs: roots, ServerName: host, NextProtos: []string{"http/1.1"}})
	br.Reset(c)
	for _, path := range [...]string{pipeline.RobotsPath, pipeline.CardPath, pipeline.LegacyCardPath} {
		if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\nUser-Agent: "+userAgent+"\r\n\r\n"); err != nil {
			return err
		}
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return err
		}
	}
	return nil
}
