package bench

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"net/http"
	"time"

	"agentcensus/pipeline"
	"agentcensus/signing"
)

// signatureFigures compare a whole signature, nonce, base and headers, with
// ed25519.Sign of the same bytes.
func signatureFigures(_ context.Context, o Options) ([]Figure, error) {
	const host = "shop.example"
	signer, err := newSigner()
	if err != nil {
		return nil, err
	}
	key, err := signing.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	h := http.Header{"User-Agent": {userAgent}}
	made, err := signing.SignRequest(key, signer.Agent(),
		signing.Request{Method: http.MethodGet, Scheme: "https", Authority: host, Path: pipeline.CardPath, Header: h},
		signing.Params{Created: now, Expires: now.Add(signing.Lifetime), Nonce: make([]byte, signing.NonceSize)})
	if err != nil {
		return nil, err
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	base := []byte(made.Base)

	// In turn, one by one, so that a busy machine slows both.
	var ratios, costs []float64
	for range o.Rounds {
		var whole, bare []float64
		for range 4000 {
			begun := time.Now()
			if err := signer.Sign(h, http.MethodGet, host, pipeline.CardPath); err != nil {
				return nil, err
			}
			middle := time.Now()
			ed25519.Sign(private, base)
			bare = append(bare, time.Since(middle).Seconds())
			whole = append(whole, middle.Sub(begun).Seconds())
		}
		ratios = append(ratios, median(whole)/median(bare))
		costs = append(costs, median(whole))
	}
	return []Figure{
		atMost("signature: x ed25519.Sign of the same bytes", median(ratios), 1.15, ""),
		shown("signature", "%.1f µs", median(costs)*1e6),
	}, nil
}

// speed is what one ed25519.Sign costs here and now in CPU: what the same
// machine does beside others' work can be compared by it.
func speed() (time.Duration, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return 0, err
	}
	message := make([]byte, 600)
	costs, err := timed(3, func() { ed25519.Sign(private, message) })
	if err != nil {
		return 0, err
	}
	return time.Duration(median(costs[0]) * float64(time.Second)), nil
}
