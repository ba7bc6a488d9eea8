//go:build unix

package signing

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// Nobody is waited for to write into a named pipe: it is refused.
func TestAKeyIsNoPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "key.pem")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := LoadKey(pipe)
	var fault *KeyError
	if !errors.As(err, &fault) || fault.Fault != FaultFormat || fault.Path != pipe {
		t.Errorf("%v, want a fault of the form of %s", err, pipe)
	}
}
