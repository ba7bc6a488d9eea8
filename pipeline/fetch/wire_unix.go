//go:build unix

package fetch

import (
	"io"
	"syscall"
)

// readNow reads what has already arrived on a socket.
func readNow(raw syscall.RawConn, p []byte) (int, error) {
	var n int
	var err error
	if rerr := raw.Read(func(fd uintptr) bool {
		for {
			n, err = syscall.Read(int(fd), p)
			if err != syscall.EINTR {
				return true
			}
		}
	}); rerr != nil {
		return 0, rerr
	}
	switch {
	case err == syscall.EAGAIN:
		return 0, wouldBlock{}
	case err != nil:
		return 0, err
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}
