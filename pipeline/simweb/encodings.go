package simweb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// A bomb decodes to bombParts times bombPart bytes. Both formats may be joined
// end to end (RFC 1952, section 2.2; RFC 8878, section 3), so that one part is
// compressed and repeated.
const (
	bombPart  = 1 << 20
	bombParts = 256
)

// bombs are made when they are first asked for.
type bombs struct {
	gzip, zstd, nothing onceBytes
	nested              [4]onceBytes // gzip or zstd around gzip or zstd
}

type onceBytes struct {
	once sync.Once
	b    []byte
	err  error
}

func (o *onceBytes) get(make func() ([]byte, error)) ([]byte, error) {
	o.once.Do(func() { o.b, o.err = make() })
	return o.b, o.err
}

func repeated(encode func(io.Reader) ([]byte, error)) ([]byte, error) {
	part, err := encode(bytes.NewReader(bytes.Repeat([]byte("a"), bombPart)))
	return bytes.Repeat(part, bombParts), err
}

func gzipped(r io.Reader) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.Copy(z, r); err != nil {
		return nil, err
	}
	err := z.Close()
	return b.Bytes(), err
}

func zstded(r io.Reader) ([]byte, error) {
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(z, r); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

// encoded is a 200 whose body is made by encode from plain.
func encoded(name, coding, plain string, encode func(io.Reader) ([]byte, error), robots, card effect) *behaviour {
	var made onceBytes
	b := &behaviour{name: name, bytes: int64(len(plain)), robots: robots, card: card}
	b.play = func(x *exchange) bool {
		body, err := made.get(func() ([]byte, error) { return encode(bytes.NewReader([]byte(plain))) })
		if err != nil {
			x.web.note(fmt.Errorf("simweb: %s: %w", name, err))
			return false
		}
		header := textType
		if coding != "" {
			header += "Content-Encoding: " + coding + "\r\n"
		}
		return x.reply(200, header, body)
	}
	return b
}

// bomb is a 200 whose small body decodes to more than any limit.
func bomb(name, coding string, made func(*bombs) ([]byte, error)) *behaviour {
	return &behaviour{
		name: name, bytes: cardLimit, robotsBytes: robotsLimit,
		robots: effect{"no_rules", "no_line", 200}, card: effect{"too_large", "", 200},
		play: func(x *exchange) bool {
			body, err := made(&x.web.bombs)
			if err != nil {
				x.web.note(fmt.Errorf("simweb: %s: %w", name, err))
				return false
			}
			return x.reply(200, jsonType+"Content-Encoding: "+coding+"\r\n", body)
		},
	}
}

func gzipBomb(b *bombs) ([]byte, error) {
	return b.gzip.get(func() ([]byte, error) { return repeated(gzipped) })
}

func zstdBomb(b *bombs) ([]byte, error) {
	return b.zstd.get(func() ([]byte, error) { return repeated(zstded) })
}

// nested wraps a bomb in one more coding; number is its place in bombs.nested.
func nested(number int, inner func(*bombs) ([]byte, error), outer func(io.Reader) ([]byte, error)) func(*bombs) ([]byte, error) {
	return func(b *bombs) ([]byte, error) {
		return b.nested[number].get(func() ([]byte, error) {
			once, err := inner(b)
			if err != nil {
				return nil, err
			}
			return outer(bytes.NewReader(once))
		})
	}
}

// A nothing_bomb unpacks to nothingParts times nothings empty gzip members of 23
// bytes, 48 MB, which unpack to nothing.
const (
	nothings     = 1 << 16
	nothingParts = 32
)

func nothing(b *bombs) ([]byte, error) {
	return b.nothing.get(func() ([]byte, error) {
		var empty bytes.Buffer
		z := gzip.NewWriter(&empty)
		if err := z.Close(); err != nil {
			return nil, err
		}
		part, err := zstded(bytes.NewReader(bytes.Repeat(empty.Bytes(), nothings)))
		return bytes.Repeat(part, nothingParts), err
	})
}

// giantWindow is a zstd frame that wants 1 GiB of memory (RFC 8878, section
// 3.1.1.1.2) for the empty block in it; no client need have more than 8 MiB (RFC
// 9659, section 3).
const giantWindow = "\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00"

func encodings() []*behaviour {
	const disallow = "User-agent: *\nDisallow: /\n"
	rulesEffect := effect{"rules", byStar, 200}
	notJSON := effect{"soft_404", "not_json", 200}
	twice := func(r io.Reader) ([]byte, error) {
		once, err := gzipped(r)
		if err != nil {
			return nil, err
		}
		return gzipped(bytes.NewReader(once))
	}
	list := []*behaviour{
		encoded("gzip", "gzip", disallow, gzipped, rulesEffect, notJSON),
		encoded("zstd", "zstd", disallow, zstded, rulesEffect, notJSON),
		encoded("gzip_twice", "gzip, gzip", disallow, twice, rulesEffect, notJSON),
		encoded("gzip_undeclared", "", disallow, gzipped, rulesEffect, notJSON),
	}
	for _, b := range list {
		b.denies = [2]string{star, star}
		b.everything()
	}
	bad := effect{"protocol_error", "content_encoding", 200}
	return append(list,
		bomb("gzip_bomb", "gzip", gzipBomb),
		bomb("zstd_bomb", "zstd", zstdBomb),
		bomb("gzip_bomb_twice", "gzip, gzip", nested(0, gzipBomb, gzipped)),
		bomb("gzip_zstd_bomb", "gzip, zstd", nested(1, gzipBomb, zstded)),
		bomb("zstd_gzip_bomb", "zstd, gzip", nested(2, zstdBomb, gzipped)),
		bomb("zstd_bomb_twice", "zstd, zstd", nested(3, zstdBomb, zstded)),
		func() *behaviour {
			b := bomb("nothing_bomb", "gzip, zstd", nothing)
			b.bytes, b.robotsBytes, b.robots, b.card = 0, 0, bad, bad
			return b
		}(),
		&behaviour{
			name: "zstd_window", status: 200, header: textType + "Content-Encoding: zstd\r\n",
			body: text(giantWindow), robots: bad, card: bad, unread: true,
		},
		&behaviour{
			name: "gzip_broken", status: 200, header: textType + "Content-Encoding: gzip\r\n",
			body: text("this is not gzip at all"), robots: bad, card: bad, unread: true,
		},
		&behaviour{
			name: "encoding_unknown", status: 200, header: textType + "Content-Encoding: br\r\n",
			body: text("\x0b\x02\x80sim\x03"), robots: bad, card: bad, unread: true,
		},
	)
}

// ignoreGone drops the errors of a client that has left already.
func ignoreGone(err error) error {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	return err
}
