package simweb

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// The kinds of log entries.
const (
	KindDNS       = "dns"       // one question to the DNS server
	KindDial      = "dial"      // one call of Web.Dial, of the connection it brought if any
	KindConn      = "conn"      // one accepted connection, from accept to close
	KindHandshake = "handshake" // one TLS handshake, from accept
	KindRequest   = "request"   // one request, see Entry.Start
)

// Entry is one line of the log.
type Entry struct {
	Kind string `json:"kind"`
	Conn int64  `json:"conn,omitempty"` // number of the connection
	Host string `json:"host"`           // server name of the handshake, name asked of DNS, or host dialled
	// Origin, Method, Path (with query), Line and Header are the request's own
	// words; Origin is made from its Host field.
	Origin string      `json:"origin,omitempty"`
	Method string      `json:"method,omitempty"`
	Path   string      `json:"path,omitempty"`
	Line   string      `json:"line,omitempty"`
	Header http.Header `json:"header,omitempty"`
	// Start is the accept, or the first byte of a request on a kept connection;
	// End is the moment before the last write, or when the client went away. In
	// [Loopback] mode the web notices that late; Left says that it is such an end.
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	Left  bool      `json:"left,omitempty"`

	Status    int    `json:"status,omitempty"`    // sent; a DNS response code for KindDNS
	Bytes     int64  `json:"bytes,omitempty"`     // of answer written, headers included
	Location  string `json:"location,omitempty"`  // sent
	Signature string `json:"signature,omitempty"` // what Config.Verify said
	Remote    string `json:"remote,omitempty"`    // client's address
	Addr      string `json:"addr,omitempty"`      // address dialled, or type of question
	Fault     string `json:"fault,omitempty"`     // of a handshake or dial
	// Denies are beginnings of paths that the answer, read as a robots.txt, disallows
	// to the bot (the whole path when it ends in $); Closes says that it then ends
	// the site. Any answer may be read so, by a redirect. Both are stated beside the
	// answer, never parsed from it.
	Denies []string `json:"denies,omitempty"`
	Closes bool     `json:"closes,omitempty"`
}

// Stats are the counters of a web's log since its start or the last Forget.
type Stats struct {
	Questions, Dials, Conns, Handshakes, Requests int64
	Unverified                                    int64 // requests whose signature Config.Verify refused
	BytesWritten                                  int64
	InFlight, Peak                                int           // requests at the server at once
	SlotTime                                      time.Duration // requests, handshakes included
	BlockedTime                                   time.Duration // dials to black holes
}

// journal collects entries and counters. Its methods are safe for concurrent
// use.
type journal struct {
	mode LogMode

	mu      sync.Mutex // guards entries, enc and err
	entries []Entry
	enc     *json.Encoder
	err     error

	questions, dials, conns, handshakes, requests atomic.Int64
	unverified, bytes                             atomic.Int64
	inFlight, peak                                atomic.Int64
	pending                                       atomic.Int64 // begun and not yet in the log
	slotTime, blockedTime                         atomic.Int64
}

func (j *journal) add(e Entry) {
	switch e.Kind {
	case KindDNS:
		j.questions.Add(1)
	case KindDial:
		j.dials.Add(1)
	case KindConn:
		j.conns.Add(1)
	case KindHandshake:
		j.handshakes.Add(1)
	case KindRequest:
		j.requests.Add(1)
		j.bytes.Add(e.Bytes)
		if e.Signature != "" && e.Signature != "ok" {
			j.unverified.Add(1)
		}
	}
	if j.mode == LogCounters {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.mode == LogMemory {
		j.entries = append(j.entries, e)
		return
	}
	if err := j.enc.Encode(e); err != nil {
		j.err = errors.Join(j.err, err)
	}
}

// enter opens a request at the server.
func (j *journal) enter() {
	n := j.inFlight.Add(1)
	for {
		p := j.peak.Load()
		if n <= p || j.peak.CompareAndSwap(p, n) {
			return
		}
	}
}

func (j *journal) leave(d time.Duration) {
	j.inFlight.Add(-1)
	j.slotTime.Add(int64(d))
}

// Log gives the entries so far in the order they ended; it is empty unless the
// log is kept in memory. It waits a moment for requests that have just ended.
func (w *Web) Log() []Entry {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for i := 0; i < 1000 && w.log.pending.Load() > 0; i++ {
		<-tick.C
	}
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	return append([]Entry(nil), w.log.entries...)
}

// Forget empties the log and sets the counters to zero, as before another crawl
// of the same web. Nothing may be in flight.
func (w *Web) Forget() {
	j := &w.log
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = nil
	for _, n := range []*atomic.Int64{&j.questions, &j.dials, &j.conns, &j.handshakes, &j.requests,
		&j.unverified, &j.bytes, &j.peak, &j.slotTime, &j.blockedTime} {
		n.Store(0)
	}
}

// Peak is the most requests that were at the server at once, in one gauge over
// handshake and answer.
func (w *Web) Peak() int { return int(w.log.peak.Load()) }

// SlotTime is the sum over all requests of handshake and answer time, by the
// server's clock.
func (w *Web) SlotTime() time.Duration { return time.Duration(w.log.slotTime.Load()) }

// Stats gives the counters.
func (w *Web) Stats() Stats {
	j := &w.log
	return Stats{
		Questions: j.questions.Load(), Dials: j.dials.Load(), Conns: j.conns.Load(),
		Handshakes: j.handshakes.Load(), Requests: j.requests.Load(),
		Unverified: j.unverified.Load(), BytesWritten: j.bytes.Load(),
		InFlight: int(j.inFlight.Load()), Peak: w.Peak(), SlotTime: w.SlotTime(),
		BlockedTime: time.Duration(j.blockedTime.Load()),
	}
}
