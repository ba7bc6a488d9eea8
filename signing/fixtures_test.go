package signing

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"testing"
	"time"
)

// The key printed in RFC 9421 B.1.4.
const publishedSeed = "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU"

const (
	botOrigin = "https://bot.example"
	botAgent  = "Emissary/1.0 (+https://bot.example/about)"
)

// noon is an instant in the middle of a second, so that flooring shows.
var noon = time.Unix(1767225600, 700_000_000)

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func publishedKey(t testing.TB) Key {
	t.Helper()
	return must[Key](t)(NewKey(must[[]byte](t)(base64.RawURLEncoding.DecodeString(publishedSeed))))
}

// testKey is a key of its own for each number.
func testKey(t testing.TB, number byte) Key {
	t.Helper()
	return must[Key](t)(NewKey(bytes.Repeat([]byte{number}, 32)))
}

func keySet(t testing.TB, keys ...Key) KeySet {
	t.Helper()
	return must[KeySet](t)(NewKeySet(keys...))
}

func agentOf(t testing.TB, form Form) Agent {
	t.Helper()
	return must[Agent](t)(NewAgent(botOrigin, form))
}

func at(instant time.Time) func() time.Time { return func() time.Time { return instant } }

func newSigner(t testing.TB, form Form, keys ...Key) *Signer {
	t.Helper()
	return must[*Signer](t)(NewSigner(Options{
		Keys: keySet(t, keys...), Agent: botOrigin, Form: form, Now: at(noon), Rand: rand.Reader,
	}))
}

// signed is a request that a signer signed at noon.
func signed(t testing.TB, form Form, key Key) Request {
	t.Helper()
	r := Request{Method: "GET", Authority: "shop.example", Path: "/robots.txt", Header: http.Header{"User-Agent": {botAgent}}}
	if err := newSigner(t, form, key).Sign(r.Header, r.Method, r.Authority, r.Path); err != nil {
		t.Fatal(err)
	}
	return r
}
