package fetch

import (
	"context"
	"net/url"
)

// Visit is the requests to one site.
type Visit struct {
	client *Client
}

// Open begins a visit.
func (c *Client) Open() *Visit { return &Visit{client: c} }

// Resolve looks host up.
func (v *Visit) Resolve(ctx context.Context, host string) error { return nil }

// Fetch makes one fetch.
func (v *Visit) Fetch(ctx context.Context, r Request) Answer { return Answer{} }

// Known returns the answer of u itself.
func (v *Visit) Known(u *url.URL) (Answer, bool) { return Answer{}, false }

// Close ends the visit.
func (v *Visit) Close() {}
