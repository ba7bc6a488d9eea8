package fetch_test

import (
	"crypto/tls"
	"net"
	"testing"
	"time"
)

// BenchmarkSite is a site's life: a handshake and three GETs on loopback,
// the server's share included. BenchmarkBareTLS is the same without HTTP of
// ours: the floor.
func BenchmarkSite(b *testing.B) {
	w := newWorld(b, time.Minute, nil)
	robots := "User-agent: *\nDisallow: /private\n"
	w.serve(pages(map[string]string{"/robots.txt": ok(robots), "/a": ok("{}"), "/b": ok("{}")}), "site.test")
	b.ReportAllocs()
	for b.Loop() {
		v := w.client.Open()
		for _, path := range []string{"/robots.txt", "/a", "/b"} {
			if a := get(b, v, "site.test"+path); a.Err != nil {
				b.Fatal(a.Err)
			}
		}
		v.Close()
	}
}

func BenchmarkBareTLS(b *testing.B) {
	w := newWorld(b, time.Minute, nil)
	s := w.serve(pages(map[string]string{"/": ok("{}")}), "site.test")
	conf := &tls.Config{RootCAs: w.ca.pool, ServerName: "site.test", NextProtos: []string{"http/1.1"}}
	buf := make([]byte, 4096)
	b.ReportAllocs()
	for b.Loop() {
		raw, err := net.Dial("tcp", s.addr)
		if err != nil {
			b.Fatal(err)
		}
		c := tls.Client(raw, conf)
		for range 3 {
			if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: site.test\r\nUser-Agent: x\r\n\r\n")); err != nil {
				b.Fatal(err)
			}
			if _, err := c.Read(buf); err != nil {
				b.Fatal(err)
			}
		}
		if err := raw.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
