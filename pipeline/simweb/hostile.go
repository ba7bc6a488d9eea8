package simweb

import (
	"net"
	"strings"
	"time"
)

// drop is the pause between two pieces of a slow answer: slower than any limit
// on a whole request allows, faster than a limit on silence notices.
const drop = 100 * time.Millisecond

// broken is a behaviour of which no whole answer comes, with what a crawl
// reports of it at any path. The bytes of body are those it receives before.
func broken(name, outcome, reason string, status int, bytes int64, play func(*exchange) bool) *behaviour {
	e := effect{outcome, reason, status}
	return &behaviour{name: name, play: play, bytes: bytes, robots: e, card: e}
}

// raw sends s as the answer.
func raw(status int, s string, keep bool) func(*exchange) bool {
	return func(x *exchange) bool {
		x.status = status
		return x.last([]byte(s)) && keep
	}
}

// hostile are the servers that send what no server should.
func hostile() []*behaviour {
	return append(append(slow(), breaking()...), malformed()...)
}

func slow() []*behaviour {
	return []*behaviour{
		broken("silent", "timeout", "headers", 0, 0, (*exchange).hang),
		broken("slow_headers", "timeout", "headers", 0, 0, func(x *exchange) bool {
			return x.some(x.head(200, textType+"X-Slow: ")) && x.drip("a", drop)
		}),
		broken("slow_body", "timeout", "body", 200, Unsure, func(x *exchange) bool {
			return x.some(x.head(200, textType+"Content-Length: 100000\r\n\r\n")) && x.drip("#", drop)
		}),
		broken("slow_chunks", "timeout", "body", 200, Unsure, func(x *exchange) bool {
			return x.some(x.head(200, textType+"Transfer-Encoding: chunked\r\n\r\n")) && x.drip("1\r\n#\r\n", drop)
		}),
		broken("stalled_body", "timeout", "body", 200, 10, func(x *exchange) bool {
			return x.some(append(x.head(200, textType), "Content-Length: 1000\r\n\r\n0123456789"...)) && x.hang()
		}),
		late("late_headers", 0),
		late("late_body", bodyTime),
		broken("endless_headers", "protocol_error", "headers_too_large", 0, 0, func(x *exchange) bool {
			return x.some(x.head(200, "")) && x.drip(strings.Repeat("X-Filler: "+strings.Repeat("a", 90)+"\r\n", 40), 0)
		}),
		broken("header_10mb", "protocol_error", "headers_too_large", 0, 0, func(x *exchange) bool {
			if !x.some(x.head(200, "X-Big: ")) {
				return false
			}
			part := []byte(strings.Repeat("b", 16<<10))
			for range 10 << 20 / len(part) {
				if !x.some(part) {
					return false
				}
			}
			return x.last([]byte("\r\nContent-Length: 0\r\n\r\n"))
		}),
		{
			name: "header_60kb", robots: robotsByStatus(404), card: cardByStatus(404),
			play: func(x *exchange) bool { return x.reply(404, bigHeader(60), nil) },
		},
		broken("header_70kb", "protocol_error", "headers_too_large", 0, 0, func(x *exchange) bool {
			return x.reply(404, bigHeader(70), nil)
		}),
		{
			name: "endless_body", bytes: cardLimit, robotsBytes: robotsLimit,
			robots: effect{"no_rules", "no_line", 200}, card: effect{"too_large", "", 200},
			play: func(x *exchange) bool {
				return x.some(x.head(200, textType+"Transfer-Encoding: chunked\r\n\r\n")) && x.drip("4000\r\n"+strings.Repeat("c", 0x4000)+"\r\n", 0)
			},
		},
		broken("endless_1xx", "protocol_error", "too_many_1xx", 0, 0, func(x *exchange) bool {
			return x.drip("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n", 0)
		}),
		{
			name: "few_1xx", robots: robotsByStatus(404), card: cardByStatus(404),
			play: func(x *exchange) bool {
				return x.some([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n")) &&
					x.reply(404, "", nil)
			},
		},
	}
}

// bigHeader is about so many KB of header, in fields of 1 KB.
func bigHeader(kb int) string {
	return strings.Repeat("X-Filler: "+strings.Repeat("f", 1012)+"\r\n", kb)
}

// late is a 404 whose header comes late, and whose body takes long after that: in
// time when only the header is late.
func late(name string, body time.Duration) *behaviour {
	b := &behaviour{name: name, delay: headTime, bytes: 10, robots: robotsByStatus(404), card: cardByStatus(404)}
	if body > 0 {
		b.bytes, b.robots, b.card = Unsure, effect{"timeout", "body", 404}, effect{"timeout", "body", 404}
	}
	b.play = func(x *exchange) bool {
		if !x.web.sleep(headTime, x.peer.flight.ended) {
			return false
		}
		if body == 0 {
			return x.reply(404, textType, []byte("not found\n"))
		}
		if !x.some(append(x.head(404, textType), "Content-Length: 10\r\n\r\n"...)) {
			return false
		}
		for _, c := range []byte("not found") {
			if !x.some([]byte{c}) || !x.web.sleep(body/9, x.peer.flight.ended) {
				return false
			}
		}
		return x.last([]byte("\n"))
	}
	return b
}

func breaking() []*behaviour {
	return []*behaviour{
		broken("reset_before", "connection_lost", "reset", 0, 0, (*exchange).reset),
		broken("reset_headers", "connection_lost", "reset", 0, 0, func(x *exchange) bool {
			x.some(x.head(200, "X-Half: "))
			return x.pause() && x.reset()
		}),
		broken("reset_body", "connection_lost", "body_truncated", 200, Unsure, func(x *exchange) bool {
			x.some(append(x.head(200, textType), "Content-Length: 1000\r\n\r\n0123456789"...))
			return x.pause() && x.reset()
		}),
		broken("close_before", "connection_lost", "eof", 0, 0, (*exchange).hangUp),
		broken("close_headers", "connection_lost", "eof", 0, 0, func(x *exchange) bool {
			x.last(x.head(200, "X-Half: "))
			return false
		}),
		broken("body_shorter", "connection_lost", "body_truncated", 200, 10, func(x *exchange) bool {
			x.last(append(x.head(200, textType), "Content-Length: 1000\r\n\r\n0123456789"...))
			return false
		}),
		broken("chunk_cut", "connection_lost", "body_truncated", 200, 5, func(x *exchange) bool {
			x.last(append(x.head(200, textType), "Transfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n5\r\n"...))
			return false
		}),
		{ // says keep-alive, answers, and closes at once: nothing was lost
			name: "close_after", robots: robotsByStatus(404), card: cardByStatus(404),
			play: func(x *exchange) bool {
				if t, ok := x.peer.Conn.(*net.TCPConn); ok {
					x.web.note(ignoreGone(cork(t)))
				}
				x.reply(404, "Connection: keep-alive\r\n", nil)
				return false
			},
		},
		{ // the same in order, with close_notify
			name: "close_announced", robots: robotsByStatus(404), card: cardByStatus(404),
			play: func(x *exchange) bool {
				x.reply(404, "Connection: close\r\n", nil)
				x.web.note(ignoreGone(x.conn.CloseWrite()))
				return false
			},
		},
		{ // its end is the end of the connection
			name: "until_close", bytes: int64(len(lostPage)), robots: robotsByStatus(404), card: cardByStatus(404),
			play: func(x *exchange) bool {
				x.last(append(x.head(404, htmlType), "Connection: close\r\n\r\n"+lostPage...))
				x.web.note(ignoreGone(x.conn.CloseWrite()))
				return false
			},
		},
		{ // bytes after the end of the body: the connection is not fit for another request
			name: "body_longer", bytes: 10, robots: robotsByStatus(404), card: cardByStatus(404),
			play: func(x *exchange) bool {
				return x.last(append(x.head(404, textType), "Content-Length: 10\r\n\r\nnot found\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"...)) && x.hang()
			},
		},
		{
			name: "http10", bytes: int64(len(lostPage)), robots: robotsByStatus(404), card: cardByStatus(404),
			play: func(x *exchange) bool {
				x.status = 404
				x.last([]byte("HTTP/1.0 404 Not Found\r\nContent-Type: text/html\r\n\r\n" + lostPage))
				x.web.note(ignoreGone(x.conn.CloseWrite()))
				return false
			},
		},
	}
}

func malformed() []*behaviour {
	const err = "protocol_error"
	return []*behaviour{
		broken("http09", err, "malformed", 0, 0, raw(0, "<html>no status line</html>\n", false)),
		broken("h2_bytes", err, "malformed", 0, 0, raw(0, "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64\x00\x00\x00\x04\x01\x00\x00\x00\x00", false)),
		broken("noise", err, "malformed", 0, 0, raw(0, "\x01\x02\x03 noise \xff\xfe\r\n\r\n", false)),
		broken("status_none", err, "malformed", 0, 0, raw(0, "HTTP/1.1 \r\nContent-Length: 0\r\n\r\n", true)),
		broken("status_word", err, "malformed", 0, 0, raw(0, "HTTP/1.1 OK 200\r\nContent-Length: 0\r\n\r\n", true)),
		broken("status_099", err, "status", 99, 0, raw(99, "HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n", true)),
		broken("status_999", err, "status", 999, 0, raw(999, "HTTP/1.1 999 Denied\r\nContent-Length: 0\r\n\r\n", true)),
		broken("header_colonless", err, "malformed", 0, 0, raw(200, "HTTP/1.1 200 OK\r\nno colon here\r\nContent-Length: 0\r\n\r\n", true)),
		broken("upgrade_101", err, "upgrade", 101, 0, raw(101, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: sim\r\nConnection: Upgrade\r\n\r\n", false)),
		broken("two_lengths", err, "content_length", 0, 0, raw(200, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\n0123456", false)),
		broken("negative_length", err, "content_length", 0, 0, raw(200, "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n01234", false)),
		broken("chunk_lies", err, "transfer_encoding", 200, Unsure, raw(200, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n0123456789\r\n0\r\n\r\n", false)),
		broken("chunk_size_bad", err, "transfer_encoding", 200, 0, raw(200, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n", false)),
		broken("transfer_unknown", err, "transfer_encoding", 0, 0, raw(200, "HTTP/1.1 200 OK\r\nTransfer-Encoding: sim\r\n\r\nabc", false)),
		{ // RFC 9112, section 6.3: chunked wins, and the connection must go
			name: "length_and_chunked", bytes: 10, robots: robotsByStatus(404), card: cardByStatus(404),
			play: func(x *exchange) bool {
				return x.last(append(x.head(404, textType), "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\na\r\nnot found\n\r\n0\r\n\r\n"...))
			},
		},
	}
}

// pause lets the client read what was sent before a reset throws it away.
func (x *exchange) pause() bool { return x.web.sleep(20*time.Millisecond, x.peer.flight.ended) }
