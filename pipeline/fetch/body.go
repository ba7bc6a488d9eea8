package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	// codingSlack is how many coded bytes more than MaxBody a body may have:
	// no encoder in use makes its input longer by more.
	codingSlack = 64 << 10
	// maxCodings is how many codings a body may be wrapped in.
	maxCodings = 2
	// maxWindow is the largest zstd window a decoder for HTTP must support,
	// and may limit itself to (RFC 9659 section 3).
	maxWindow = 8 << 20
)

// codings returns the content codings of h in the order they were applied,
// identity left out, or an error when there is one we did not ask for.
func codings(h http.Header) ([]string, error) {
	var cs []string
	for _, v := range h["Content-Encoding"] {
		for c := range strings.SplitSeq(v, ",") {
			switch c = strings.ToLower(strings.Trim(c, " \t")); c {
			case "", "identity":
			case "gzip", "x-gzip": // equivalent: RFC 9110 section 8.4.1.3
				cs = append(cs, "gzip")
			case "zstd":
				cs = append(cs, c)
			default:
				return nil, fmt.Errorf("content coding %q was not asked for", c)
			}
			if len(cs) > maxCodings {
				return nil, fmt.Errorf("more than %d content codings", maxCodings)
			}
		}
	}
	return cs, nil
}

// readCoded appends a body as it came to buf. It stops once a body of more
// than max decoded bytes is certain: whole is false then. cs is what the
// header declares; gzip that no header declares is recognised by its first
// bytes and added to the result.
func readCoded(buf []byte, body io.Reader, cs []string, max int64) (_ []byte, _ []string, whole bool, err error) {
	limit := max + 1
	if len(cs) > 0 {
		limit = max + codingSlack + 1
	}
	looked := len(cs) > 0
	for {
		if int64(len(buf)) >= limit {
			return buf, cs, false, nil
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		room := buf[len(buf):cap(buf)]
		if int64(len(room)) > limit-int64(len(buf)) {
			room = room[:limit-int64(len(buf))]
		}
		n, err := body.Read(room)
		buf = buf[:len(buf)+n]
		if !looked && len(buf) >= 3 {
			looked = true
			// ID1, ID2 and CM of RFC 1952 section 2.3.1.
			if bytes.HasPrefix(buf, []byte{0x1f, 0x8b, 8}) {
				cs, limit = []string{"gzip"}, max+codingSlack+1
			}
		}
		if err == io.EOF {
			return buf, cs, int64(len(buf)) < limit, nil
		}
		if err != nil {
			return buf, cs, false, err
		}
	}
}

// decoders undoes content codings. It keeps what is costly to make, and lets
// few zstd decoders work at once: each may need a window of 8 MiB.
type decoders struct {
	gzip    sync.Pool // of *gzip.Reader
	zstd    sync.Pool // of *zstd.Decoder
	atOnce  chan struct{}
	scratch *buffers
}

func newDecoders(b *buffers) *decoders {
	return &decoders{atOnce: make(chan struct{}, runtime.GOMAXPROCS(0)), scratch: b}
}

// decode undoes cs on coded, the last first, and returns at most max bytes
// of the result; cut says that there are more. whole is false when coded is
// only the beginning of the body. The result is the caller's own.
func (d *decoders) decode(coded []byte, whole bool, cs []string, max int64) (body []byte, cut bool, err error) {
	if len(cs) == 0 || len(coded) == 0 {
		if int64(len(coded)) > max {
			return bytes.Clone(coded[:max]), true, nil
		}
		return bytes.Clone(coded), false, nil
	}
	d.atOnce <- struct{}{}
	defer func() { <-d.atOnce }()

	var r io.Reader = bytes.NewReader(coded)
	var inner *io.LimitedReader // between two layers
	for i := len(cs) - 1; i >= 0; i-- {
		layer, release, err := d.layer(cs[i], r)
		if err != nil {
			return nil, false, err
		}
		defer release()
		r = layer
		if i > 0 {
			// A bomb between the layers may decode to nothing at all: what is
			// still coded has the limit that coded bytes have on the wire. One
			// byte more tells a body cut there from one that ends there.
			inner = &io.LimitedReader{R: layer, N: max + codingSlack + 1}
			r = inner
		}
	}
	buf := d.scratch.get()
	defer d.scratch.put(buf)
	out, _, all, err := readCoded((*buf)[:0], r, []string{}, max)
	*buf = out
	switch {
	case int64(len(out)) > max:
		return bytes.Clone(out[:max]), true, nil
	case err != nil:
		return nil, false, err
	case !all || !whole || inner != nil && inner.N <= 0:
		return nil, false, errors.New("coded body is longer than any encoder makes it")
	}
	return bytes.Clone(out), false, nil
}

// layer is a reader that undoes one coding of r, and what gives it back.
func (d *decoders) layer(coding string, r io.Reader) (io.Reader, func(), error) {
	if coding == "zstd" {
		z, _ := d.zstd.Get().(*zstd.Decoder)
		if z == nil {
			var err error
			z, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), // no goroutines
				zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
			if err != nil {
				return nil, nil, err
			}
		}
		if err := z.Reset(r); err != nil {
			return nil, nil, err
		}
		return z, func() {
			// Without its input; an error means it cannot be used again.
			if z.Reset(nil) == nil {
				d.zstd.Put(z)
			}
		}, nil
	}
	z, _ := d.gzip.Get().(*gzip.Reader)
	if z == nil {
		z = new(gzip.Reader)
	}
	if err := z.Reset(r); err != nil {
		d.gzip.Put(z)
		return nil, nil, err
	}
	return z, func() { d.gzip.Put(z) }, nil
}

// buffers holds what every exchange needs for its length.
type buffers struct {
	bytes   sync.Pool // of *[]byte
	readers sync.Pool // of *bufio.Reader, headerLimit long
	writers sync.Pool // of *bufio.Writer
}

func newBuffers() *buffers { return &buffers{} }

func (b *buffers) get() *[]byte {
	if p, ok := b.bytes.Get().(*[]byte); ok {
		return p
	}
	p := make([]byte, 0, 8<<10)
	return &p
}

func (b *buffers) put(p *[]byte) {
	b.bytes.Put(p)
}

func (b *buffers) reader(r io.Reader) *bufio.Reader {
	if br, ok := b.readers.Get().(*bufio.Reader); ok {
		br.Reset(r)
		return br
	}
	return bufio.NewReaderSize(r, headerLimit)
}

func (b *buffers) putReader(br *bufio.Reader) {
	br.Reset(nil)
	b.readers.Put(br)
}

func (b *buffers) writer(w io.Writer) *bufio.Writer {
	if bw, ok := b.writers.Get().(*bufio.Writer); ok {
		bw.Reset(w)
		return bw
	}
	return bufio.NewWriterSize(w, 2<<10)
}

func (b *buffers) putWriter(bw *bufio.Writer) {
	bw.Reset(nil)
	b.writers.Put(bw)
}
