package simweb

import (
	"net"
	"syscall"
)

// cork holds back what is written until the connection is closed, so that the
// last bytes and the end arrive together: the client cannot find the
// connection alive in between.
func cork(c *net.TCPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_CORK, 1)
	}); err != nil {
		return err
	}
	return failed
}
