//go:build !unix

package fetch

import (
	"errors"
	"syscall"
)

// readNow has no form here. A kept connection whose state cannot be known is
// taken for dead, which costs a handshake and never a second request.
func readNow(syscall.RawConn, []byte) (int, error) {
	return 0, errors.ErrUnsupported
}
