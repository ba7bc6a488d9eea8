package simweb

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// The profiles: how often a seeded web does what.
const (
	// Measured has weights that resemble the web as published counts describe
	// it; slow behaviours are rarer than in life, since each costs a crawl five
	// seconds of a slot.
	Measured = "measured"
	// Flat does everything often: a few thousand names meet every outcome.
	Flat = "flat"
	// Plain has no faults: robots.txt with rules, no card, now and then a card.
	Plain = "plain"
)

// AddressMode says which addresses the DNS server gives for a name.
type AddressMode int

const (
	// Public addresses, made from a hash of the name. Connections to them are
	// made by [Web.Dial], which diverts to the loopback listeners.
	Public AddressMode = iota
	// Loopback addresses on which the server really listens, all on [Web.Port]:
	// for clients in other processes. There are no IPv6 addresses, and a black
	// hole is a server that accepts and stays silent.
	Loopback
)

// LogMode says what becomes of log entries.
type LogMode int

const (
	// LogMemory keeps every entry, for [Web.Log] and [Web.Check].
	LogMemory LogMode = iota
	// LogWriter writes each entry to Config.LogTo as one line of JSON.
	LogWriter
	// LogCounters keeps counts alone: memory stays flat over a million names.
	LogCounters
)

// Lognormal is a distribution of delays. The zero value is no delay.
type Lognormal struct {
	Median time.Duration // half of the delays are shorter
	Sigma  float64       // of the logarithm; 0 makes every delay the median
}

// VerifyFunc judges the signature of one request: "" or "ok" when it verifies,
// else a short reason. The path is as sent, with its query.
type VerifyFunc func(method, authority, path string, h http.Header, received time.Time) string

// Config is what a web is made from. The zero value is a measured web of seed 0
// with its log in memory.
type Config struct {
	Seed     uint64
	Profile  string    // Measured when empty
	Scenario *Scenario // sites said by hand; other names follow the seed
	Bot      string    // product token that named groups in robots.txt use; "agentcensus" when empty

	Latency          Lognormal // before each answer
	HandshakeLatency Lognormal // before each handshake
	DeadShare        float64   // share of black-holed sites, 0 to 1; 0 leaves it to the profile
	CardShare        float64   // share of sites with a card, 0 to 1; 0 leaves it to the profile
	CardBytes        int       // cards are padded to at least this many bytes, at most 250,000

	Addresses AddressMode
	Log       LogMode
	LogTo     io.Writer // for LogWriter; calls are serialised
	Verify    VerifyFunc
	Epoch     int              // the web at a later time, see Web.SetEpoch
	Now       func() time.Time // for the log, certificates and Date; time.Now when nil
}

func (c Config) withDefaults() (Config, error) {
	if c.Profile == "" {
		c.Profile = Measured
	}
	if _, ok := profiles[c.Profile]; !ok {
		return c, fmt.Errorf("simweb: no profile %q (measured, flat or plain)", c.Profile)
	}
	if c.DeadShare < 0 || c.DeadShare > 1 || c.CardShare < 0 || c.CardShare > 1 {
		return c, errors.New("simweb: a share lies between 0 and 1")
	}
	if c.CardBytes < 0 || c.CardBytes > 250_000 {
		return c, errors.New("simweb: CardBytes lies between 0 and 250000")
	}
	if c.Log == LogWriter && c.LogTo == nil {
		return c, errors.New("simweb: LogWriter needs LogTo")
	}
	if c.Scenario != nil && c.Scenario.byName == nil { // made in Go, not read
		if err := c.Scenario.check(newCatalogue()); err != nil {
			return c, fmt.Errorf("simweb: scenario: %w", err)
		}
	}
	if c.Bot == "" {
		c.Bot = "agentcensus"
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}
