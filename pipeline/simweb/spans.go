package simweb

import (
	"slices"
	"time"
)

// span is one request as the log tells of it: from its first byte on a kept
// connection, else from the start of its first dial, to its end. A request may
// try several addresses of its host, at once or in turn.
type span struct {
	start, end time.Time
	host       string
	entry      Entry // the request; else the handshake or the first dial, when none came of it
	// late says that the end is when the web noticed that the client had gone.
	late bool
}

// asked says whether the request reached the server.
func (s *span) asked() bool { return s.entry.Kind == KindRequest }

// spansOf makes spans of a log, in the order they began. Where the log has no
// dials (in [Loopback] mode) a span begins at the accept. A dial launched at most
// slack after another has connected may not have known of it.
func spansOf(log []Entry, slack time.Duration) []span {
	uses := usesOf(log)
	var dials []Entry
	dialled := map[int64]bool{}
	for _, e := range log {
		if e.Kind == KindDial {
			dials = append(dials, e)
			dialled[e.Conn] = e.Conn != 0
		}
	}
	slices.SortStableFunc(dials, func(a, b Entry) int { return a.Start.Compare(b.Start) })
	var out []span
	connecting := map[string]*attempts{} // by host
	for _, d := range dials {
		use, used := uses.first(log, d.Conn)
		a := connecting[d.Host]
		if a == nil || !a.includes(d, used, slack) {
			if a != nil {
				out = append(out, a.span)
			}
			a = &attempts{span: span{start: d.Start, end: d.End, host: d.Host, entry: d}, addrs: map[string]bool{}}
			connecting[d.Host] = a
		}
		switch {
		case used && a.used: // both connections of a race carried a request
			out = append(out, span{start: d.Start, end: later(d.End, use.End), host: d.Host, entry: use})
		default:
			a.add(d, use, used)
		}
	}
	for _, host := range sortedKeys(connecting) {
		out = append(out, connecting[host].span)
	}
	for i, e := range log {
		first := e.Conn != 0 && uses[e.Conn] == i
		switch {
		case e.Kind == KindRequest && !(first && dialled[e.Conn]),
			e.Kind == KindHandshake && e.Host != "" && !dialled[e.Conn] && !uses.carried(log, e.Conn):
			late := !dialled[e.Conn] && (e.Left || e.Fault != "")
			out = append(out, span{e.Start, e.End, e.Host, e, late})
		}
	}
	slices.SortStableFunc(out, func(a, b span) int { return a.start.Compare(b.start) })
	return out
}

// uses finds the entry that tells what a connection was first used for: a
// request, else a handshake that named a host. Of two connections raced to one
// host, the loser carries neither.
type uses map[int64]int

func usesOf(log []Entry) uses {
	u := uses{}
	for i, e := range log {
		if e.Kind != KindRequest && (e.Kind != KindHandshake || e.Host == "") {
			continue
		}
		j, ok := u[e.Conn]
		if !ok || e.Kind == KindRequest && (log[j].Kind == KindHandshake || e.Start.Before(log[j].Start)) {
			u[e.Conn] = i
		}
	}
	return u
}

func (u uses) first(log []Entry, conn int64) (Entry, bool) {
	i, ok := u[conn]
	if !ok || conn == 0 {
		return Entry{}, false
	}
	return log[i], true
}

// carried says whether a connection carried a request.
func (u uses) carried(log []Entry, conn int64) bool {
	i, ok := u[conn]
	return ok && log[i].Kind == KindRequest
}

// attempts are the dials of one request.
type attempts struct {
	span
	addrs     map[string]bool
	connected time.Time // when the first of them was; zero before
	used      bool      // one of their connections carried a handshake
}

// includes says whether d is one more address tried for the same request: not
// one that was tried before, nor one dialled when there was a connection already,
// unless the news of it was still on its way.
func (a *attempts) includes(d Entry, used bool, slack time.Duration) bool {
	switch {
	case a.addrs[d.Addr]:
		return false
	case a.connected.IsZero():
		return true
	case a.used && used:
		return d.Start.Before(a.connected)
	}
	return d.Start.Before(a.connected.Add(slack))
}

func (a *attempts) add(d, use Entry, used bool) {
	a.addrs[d.Addr] = true
	a.end = later(a.end, d.End)
	if d.Conn != 0 && (a.connected.IsZero() || d.End.Before(a.connected)) {
		a.connected = d.End
	}
	if used {
		a.used, a.entry, a.end = true, use, later(a.end, use.End)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
