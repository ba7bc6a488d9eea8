package simweb

import (
	"testing"
	"time"
)

// What a site costs the web besides TLS: its plan, which is made for every
// question, dial, handshake and request.
func BenchmarkPlan(b *testing.B) {
	w, err := Start(b.Context(), Config{Log: LogCounters})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		w.plan("amber-works-77.example", 0)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

// One certificate, signature included.
func BenchmarkMint(b *testing.B) {
	i, err := newIssuer(time.Now())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := i.mint("amber-works-77.example", shakeGood); err != nil {
			b.Fatal(err)
		}
	}
}

// A site's whole visit by a bare client: DNS, TCP, TLS and one request.
func BenchmarkVisit(b *testing.B) {
	w, err := Start(b.Context(), Config{Profile: Plain, Log: LogCounters})
	if err != nil {
		b.Fatal(err)
	}
	rank := int64(0)
	buf := make([]byte, 4096)
	for b.Loop() {
		rank++
		name := w.entry(rank).name
		c, err := handshakeWith(b.Context(), w, name)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Write([]byte("GET /robots.txt HTTP/1.1\r\nHost: " + name + "\r\n\r\n")); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Read(buf); err != nil {
			b.Fatal(err)
		}
		if err := c.NetConn().Close(); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}
