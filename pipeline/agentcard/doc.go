// Package agentcard decides whether a response body is an A2A Agent Card and
// reads the facts a census needs out of it.
//
// It promises that every body gets exactly one verdict; that a card is read one
// level at a time, so that a field of the wrong type costs that field and never
// the card; that facts of every released generation of the format (0.1 to 1.0)
// and of the mixtures found on the web come out under one set of names; and
// that time and memory stay bounded for hostile bodies.
//
// It leaves to others: fetching, the HTTP status and headers, limits on the
// body's size, keeping anything, and checking signatures. A signature is
// described here, never called valid, because that needs its key.
//
// "A2A" in comments is the Agent2Agent specification, docs/specification.md of
// a2aproject/A2A at the named release.
package agentcard
