package simweb

import (
	"strings"
	"time"
)

// plan is what one site does: its fate, drawn from the seed and the name or said
// by a scenario. It is made anew for every question, so that memory does not
// grow with the names asked.
type plan struct {
	base  string // the name without one leading "www."
	seed  uint64 // of this site
	epoch int
	bot   string
	local bool // addresses are on loopback
	pad   int
	all   catalogue

	dns   *nameService
	link  link
	shake handshake

	move         topology
	robots       *behaviour
	card1, card2 *behaviour            // at the card path and the legacy path
	paths        map[string]*behaviour // further paths of a scenario

	www    *plan // of the www name, when it differs
	change string
	since  int // epoch of the change
	expect *Fate
}

// link is what becomes of a dial.
type link int

const (
	linkGood link = iota
	linkRefused
	linkBlackHole
	linkSlow // connects after linkTime
)

var links = map[string]link{"ok": linkGood, "refused": linkRefused, "black_hole": linkBlackHole, "slow": linkSlow}

// What is late is in time by itself: each delay is well within the five seconds
// of a request, and all of them together are not.
const (
	linkTime    = 1500 * time.Millisecond
	shakeTime   = 1500 * time.Millisecond
	headTime    = 2500 * time.Millisecond // before the header of an answer
	bodyTime    = 4 * time.Second         // before the last byte of its body
	requestTime = 5 * time.Second
)

// handshake is how a host does TLS.
type handshake int

const (
	shakeGood handshake = iota
	shakeExpired
	shakeNotYetValid
	shakeWrongName
	shakeUnknownCA
	shakeSelfSigned
	shakeTLS10
	shakeRSAKex
	shakeAlert
	shakeStall
	shakeDrip // a byte each 100 ms
	shakeEOF
	shakePlain
	shakeLate // answers after shakeTime
	shakeAlertFailure
	shakeAlertInternal
	shakeClientCert // asks for a certificate, and refuses who has none by an alert
)

var handshakes = map[string]handshake{
	"ok": shakeGood, "expired": shakeExpired, "not_yet_valid": shakeNotYetValid, "wrong_name": shakeWrongName,
	"unknown_ca": shakeUnknownCA, "self_signed": shakeSelfSigned, "tls10": shakeTLS10, "rsa_kex": shakeRSAKex,
	"alert": shakeAlert, "stall": shakeStall, "drip": shakeDrip, "eof": shakeEOF, "plain_http": shakePlain,
	"late": shakeLate, "alert_handshake_failure": shakeAlertFailure, "alert_internal_error": shakeAlertInternal,
	"client_cert": shakeClientCert,
}

var handshakeEffects = map[handshake]effect{
	shakeExpired:     {outcome: "tls_certificate", reason: "expired"},
	shakeNotYetValid: {outcome: "tls_certificate", reason: "not_yet_valid"},
	shakeWrongName:   {outcome: "tls_certificate", reason: "wrong_name"},
	shakeUnknownCA:   {outcome: "tls_certificate", reason: "unknown_authority"},
	shakeSelfSigned:  {outcome: "tls_certificate", reason: "self_signed"},
	shakeTLS10:       {outcome: "tls_handshake", reason: "version"},
	shakeRSAKex:      {outcome: "tls_handshake", reason: "cipher"},
	shakeAlert:       {outcome: "tls_handshake", reason: "alert"},
	shakeStall:       {outcome: "timeout", reason: "handshake"},
	shakeDrip:        {outcome: "timeout", reason: "handshake"},
	shakeEOF:         {outcome: "tls_handshake", reason: "eof"},
	shakePlain:       {outcome: "tls_handshake", reason: "other"},

	shakeAlertFailure:  {outcome: "tls_handshake", reason: "cipher"}, // no common parameters
	shakeAlertInternal: {outcome: "tls_handshake", reason: "alert"},
	shakeClientCert:    {outcome: "tls_handshake", reason: "alert"},
}

// topology is how the apex of a site leads to its www name.
type topology int

const (
	moveNone      topology = iota
	moveAll                // every path
	moveCards              // the two card paths
	moveRobots             // robots.txt alone
	moveForbidden          // as moveCards; the apex has no robots.txt, that of www disallows everything
)

var topologies = map[string]topology{
	"": moveNone, "none": moveNone, "all": moveAll, "cards": moveCards, "robots": moveRobots, "forbidden": moveForbidden,
}

// at is the plan for one of the site's two hosts.
func (p *plan) at(host string) *plan {
	if p.www != nil && host != p.base {
		return p.www
	}
	return p
}

// unreachable is what a crawl reports of a host that no request gets through to.
func (p *plan) unreachable() effect {
	switch {
	case p.dns.effect.outcome != "":
		return p.dns.effect
	case p.link == linkRefused:
		return effect{outcome: "connect_refused", reason: "refused"}
	case p.link == linkBlackHole && p.local:
		return effect{outcome: "timeout", reason: "handshake"}
	case p.link == linkBlackHole:
		return effect{outcome: "timeout", reason: "connect"}
	}
	return handshakeEffects[p.shake]
}

// late says whether the first request to host is late in so many phases that its
// time is over before the header of its answer.
func (p *plan) late(host string) bool {
	if _, moved := p.moved(host, RobotsPath); moved {
		return false
	}
	d := p.answer(host, RobotsPath).delay
	if at := p.at(host); at.link == linkSlow {
		d += linkTime
	}
	if p.at(host).shake == shakeLate {
		d += shakeTime
	}
	return d > requestTime
}

// moved gives the host to which a path of host is redirected.
func (p *plan) moved(host, path string) (string, bool) {
	if host != p.base {
		return "", false
	}
	switch {
	case p.move == moveAll,
		(p.move == moveCards || p.move == moveForbidden) && (path == CardPath || path == LegacyPath),
		p.move == moveRobots && path == RobotsPath:
		return "www." + p.base, true
	}
	return "", false
}

// answer is the behaviour at a path, without its query.
func (p *plan) answer(host, path string) *behaviour {
	p = p.at(host)
	if b := p.paths[path]; b != nil {
		return b
	}
	switch path {
	case RobotsPath:
		if p.move == moveForbidden {
			if host == p.base {
				return p.all["not_found"]
			}
			return p.all["robots_disallow"]
		}
		return p.robots
	case CardPath:
		return p.card1
	case LegacyPath:
		return p.card2
	case "/":
		return p.all["html"]
	}
	return p.all["not_found"]
}

// composes says whether the plan knows its whole fate: no answer is written out,
// and www is as the apex.
func (p *plan) composes() bool {
	return p.www == nil && p.paths == nil && !p.robots.custom && !p.card1.custom && !p.card2.custom
}

// plan draws the plan of a name; nil when the name does not exist.
func (w *Web) plan(name string, epoch int) *plan {
	base := strings.TrimPrefix(name, "www.")
	if s := w.cfg.Scenario; s != nil {
		if p := w.scripted(s, base); p != nil {
			return p
		}
		if s.Only {
			return nil
		}
	}
	p := &plan{
		base: base, seed: mix(w.cfg.Seed ^ fold(base)), epoch: epoch,
		bot: w.cfg.Bot, local: w.cfg.Addresses == Loopback, pad: w.cfg.CardBytes, all: w.catalogue, dns: nameServices["ok"],
	}
	w.profile.draw(p, w.cfg)
	return p
}

// hash gives 64 bits that depend on the site and a label alone.
func (p *plan) hash(label string) uint64 { return mix(p.seed ^ fold(label)) }

// chance gives a number from 0 up to 1 that depends on the site and a label.
func (p *plan) chance(label string) float64 { return float64(p.hash(label)>>11) / (1 << 53) }

// fold is FNV-1a of s.
func fold(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// mix is the finaliser of SplitMix64: every bit of x sways every bit of it.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
