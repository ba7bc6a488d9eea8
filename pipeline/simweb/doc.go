// Package simweb is a web in one process: a DNS server and a TLS server on
// loopback that answer for any name, so that no test, demonstration or benchmark
// needs the internet.
//
// What a name does is drawn from a seed and the name, or said by a [Scenario].
// The fate of a site is drawn first and its answers are made from it, so that
// [Web.Fate] can say what an honest crawl must report: its outcomes, its totals
// and the facts of its card, each stated by hand beside the template that is
// served. Every behaviour, good or hostile, has a name; README.md lists them.
//
// The server keeps a log of every DNS question, dial, connection, handshake and
// request. [Web.Check] reads that log alone and says which promises of a polite
// crawl were broken.
//
// The package knows nothing of the crawler: it imports none of its packages, and
// the verification of signatures is injected by [Config.Verify].
package simweb
