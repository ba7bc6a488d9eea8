package fetch

import "net/netip"

// DialWith is dialWith.
var DialWith = dialWith

// Target is target.
var Target = target

// SetOnline says what c believes of this machine's routes.
func (c *Client) SetOnline(online bool) { c.online = func() bool { return online } }

// GuardControl is the guard of the package's own dialer.
func GuardControl(allow []netip.Prefix, address string) error {
	return newGuard(allow).control("tcp", address, nil)
}
