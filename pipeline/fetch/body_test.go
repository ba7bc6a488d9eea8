package fetch_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"agentcensus/pipeline/fetch"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zstded(t testing.TB, b []byte, opts ...zstd.EOption) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out, append(opts, zstd.WithEncoderConcurrency(1))...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(z, bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// coded is a whole answer whose body is in a content coding.
func coded(coding string, body []byte) string {
	field := ""
	if coding != "" {
		field = "Content-Encoding: " + coding + "\r\n"
	}
	return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", field, len(body), body)
}

func TestContentCodings(t *testing.T) {
	text := strings.Repeat("a", 100) // the limit of get
	gz := gzipped(t, []byte(text))
	for _, c := range []struct {
		name, answer string
		body         string
		cut          bool
		fault        bool
	}{
		{name: "none", answer: coded("", []byte(text)), body: text},
		{name: "identity", answer: coded("identity", []byte(text)), body: text},
		{name: "gzip", answer: coded("gzip", gz), body: text},
		{name: "GZIP", answer: coded("GZIP", gz), body: text},
		{name: "x-gzip", answer: coded("x-gzip", gz), body: text},
		{name: "zstd", answer: coded("zstd", zstded(t, []byte(text))), body: text},
		{name: "zstd with the largest window", answer: coded("zstd", zstded(t, []byte(text), zstd.WithWindowSize(8<<20), zstd.WithSingleSegment(false))), body: text},
		{name: "gzip twice", answer: coded("gzip, gzip", gzipped(t, gz)), body: text},
		{name: "gzip, then zstd", answer: coded("gzip, zstd", zstded(t, gz)), body: text},
		{name: "two fields", answer: coded("gzip\r\nContent-Encoding: zstd", zstded(t, gz)), body: text},
		{name: "two gzip members", answer: coded("gzip", append(gzipped(t, []byte("ab")), gzipped(t, []byte("cd"))...)), body: "abcd"},
		{name: "undeclared gzip", answer: coded("", gz), body: text},
		{name: "empty, said to be gzip", answer: coded("gzip", nil)},
		{name: "empty", answer: coded("", nil)},

		{name: "one byte too long", answer: coded("", []byte(text+"b")), body: text, cut: true},
		{name: "gzip one byte too long", answer: coded("gzip", gzipped(t, []byte(text+"b"))), body: text, cut: true},
		{name: "undeclared gzip too long", answer: coded("", gzipped(t, []byte(text+"b"))), body: text, cut: true},
		{name: "zstd one byte too long", answer: coded("zstd", zstded(t, []byte(text+"b"))), body: text, cut: true},
		{name: "chunked without end", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("8\r\naaaaaaaa\r\n", 1000), body: text, cut: true},

		{name: "unknown coding", answer: coded("br", []byte("x")), fault: true},
		{name: "three codings", answer: coded("gzip, gzip, gzip", gz), fault: true},
		{name: "said to be gzip", answer: coded("gzip", []byte("plain text")), fault: true},
		{name: "said to be zstd", answer: coded("zstd", []byte("plain text")), fault: true},
		{name: "gzip cut", answer: coded("gzip", gz[:len(gz)-9]), fault: true},
		{name: "gzip with a wrong sum", answer: coded("gzip", append(bytes.Clone(gz[:len(gz)-8]), 1, 2, 3, 4, 5, 6, 7, 8)), fault: true},
		{name: "zstd window of 128 MiB", answer: coded("zstd", []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x88, 0x01, 0x00, 0x00}), fault: true},
		{name: "gzip of nothing, endless", answer: coded("gzip", bytes.Repeat(gzipped(t, nil), 20_000)), fault: true},
		{name: "gzip of gzip of nothing, endless", answer: coded("gzip, gzip", gzipped(t, bytes.Repeat(gzipped(t, nil), 20_000))), fault: true},
		{name: "zstd of gzip of nothing, endless", answer: coded("gzip, zstd", zstded(t, bytes.Repeat(gzipped(t, nil), 20_000))), fault: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, patient, nil)
			w.serve(pages(map[string]string{"/": c.answer}), "site.test")
			a := get(t, w.visit(), "site.test/")
			if c.fault {
				wantError(t, a, fetch.ProtocolError, "content_encoding")
				return
			}
			wantBody(t, a, 200, c.body)
			if a.Cut != c.cut || a.BodyBytes != int64(len(c.body)) {
				t.Errorf("cut %v, %d bytes; want %v, %d", a.Cut, a.BodyBytes, c.cut, len(c.body))
			}
		})
	}
}

// However much a body would decode to, no more than a fixed amount is
// allocated for it.
func TestBombsCostNoMemory(t *testing.T) {
	zeros := make([]byte, 64<<20)
	gz := gzipped(t, zeros)
	for name, answer := range map[string]string{
		"gzip":       coded("gzip", gz),
		"gzip twice": coded("gzip, gzip", gzipped(t, gz)),
		"zstd":       coded("zstd", zstded(t, zeros)),
		"undeclared": coded("", gz),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, patient, nil)
			w.serve(pages(map[string]string{"/": answer}), "site.test")
			v := w.visit()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			a := get(t, v, "site.test/")
			runtime.ReadMemStats(&after)
			if a.Err != nil || !a.Cut || len(a.Body) != 100 {
				t.Fatalf("%d bytes, cut %v, error %v", len(a.Body), a.Cut, a.Err)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 24<<20 {
				t.Errorf("%d bytes allocated, of a body of %d", n, len(zeros))
			}
		})
	}
}
