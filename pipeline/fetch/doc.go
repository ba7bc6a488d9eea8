// Package fetch makes the crawl's requests: one GET at a time over HTTPS, its
// answer within fixed limits, and at most three redirects inside one site.
//
// It promises that
//
//   - one URL is requested at most once in a Visit: there is no hidden retry,
//     an answer already known is used again, a kept connection that dies
//     after the first byte was written is an error;
//   - a slot is held from the start of the dial to the last body byte and for
//     nothing else: DNS, permission and decoding happen outside it;
//   - a request ends within Config.Timeout, whatever the server does;
//   - no more than 64 KiB of header a response and Request.MaxBody decoded
//     bytes of body are handed over, and memory stays in proportion to them;
//   - only public addresses are dialled, checked at every connect;
//   - every request carries its own signature, made just before it is sent,
//     and nothing is sent when signing fails.
//
// What the answer means is left to others: robots.txt and the opt-out list
// are asked through Request.Permit, and no status is good or bad here.
package fetch
