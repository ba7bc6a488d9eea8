//go:build !linux

package simweb

import "net"

// cork does nothing here: the end may arrive a moment after the last bytes.
func cork(*net.TCPConn) error { return nil }
