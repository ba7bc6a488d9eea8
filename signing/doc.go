// Package signing lets a site owner tell this bot from one that copies its
// name: it signs requests with Web Bot Auth, verifies such signatures, and
// publishes the keys they are made with.
//
// The profile is draft-ietf-webbotauth-httpsig-protocol-00 over HTTP Message
// Signatures (RFC 9421), Ed25519 only.
//
// It promises that
//   - a [Signer] signs with the newest valid key or returns an error and leaves
//     the header alone; a signature is never dated ahead of the clock it is
//     given, lives [Lifetime], and carries a nonce of its own;
//   - a [Verifier] trusts nothing the message says about itself: what must be
//     covered is decided here, and every refusal has a [Reason];
//   - a [Directory] is signed for the configured authority only, and its
//     signatures outlive every cached copy;
//   - a private key is written once with mode 0600, is never printed, and is
//     refused when others can read it.
//
// It leaves to others when to sign (as late as possible: after the dial, before
// the first byte, for every redirect hop anew), the removal of dot segments
// before a request is made, TLS, and the fetching of directories.
//
// The clock and the randomness are passed in; the package keeps no global state
// and starts no goroutine.
package signing
