package signing

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// KeyFault says why a key is not used.
type KeyFault string

// The faults of key files and key sets.
const (
	FaultExists     KeyFault = "exists"         // the file is already there
	FaultMode       KeyFault = "mode"           // others can read or write the file
	FaultFormat     KeyFault = "format"         // not one PKCS#8 PEM block
	FaultEncrypted  KeyFault = "encrypted"      // the PEM block asks for a password
	FaultNotEd25519 KeyFault = "not_ed25519"    // another kind of key
	FaultTestKey    KeyFault = "test_key"       // RFC 9421 B.1.4
	FaultWindow     KeyFault = "window"         // it expires before it begins
	FaultNoPrivate  KeyFault = "no_private_key" // only its public half is there
	FaultDuplicate  KeyFault = "duplicate"      // listed twice
	FaultNone       KeyFault = "none"           // no key at all
	FaultExpired    KeyFault = "expired"        // every key has expired
	FaultNotBegun   KeyFault = "not_yet_valid"  // no key has begun
)

// KeyError is a key that is not used, and what to do about it.
type KeyError struct {
	Fault KeyFault
	Path  string // "" when the key is not known by its file
	What  string // what is wrong and what to do, for the operator
	Err   error  // the cause, or nil
}

// Error says which key, what is wrong and what to do.
func (e *KeyError) Error() string {
	text := "signing key"
	if e.Path != "" {
		text += " " + e.Path
	}
	text += ": " + e.What
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *KeyError) Unwrap() error { return e.Err }

const (
	pemType = "PRIVATE KEY" // RFC 5958 in RFC 7468 10
	// maxKeyFile bounds what is read of a key file, in bytes; one of ours has 119.
	maxKeyFile = 64 << 10
)

// WriteKey writes k to a new file at path: PKCS#8 in PEM, mode 0600, on disk
// before it returns. A file that is already there is left as it is and refused
// with [FaultExists]; a file that could not be written whole is removed.
func WriteKey(path string, k Key) (err error) {
	if k.private == nil {
		return &KeyError{Fault: FaultNoPrivate, Path: path, What: "there is no private key to write"}
	}
	der, err := x509.MarshalPKCS8PrivateKey(k.private.key)
	if err != nil {
		return fmt.Errorf("writing signing key %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return &KeyError{Fault: FaultExists, Path: path,
			What: "the file exists and is never overwritten: choose another path, or move the old key away", Err: fs.ErrExist}
	}
	if err != nil {
		return fmt.Errorf("writing signing key: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing signing key %s: %w", path, errors.Join(err, os.Remove(path)))
		}
	}()
	// A umask can only take rights away; Chmod gives the owner's back.
	err = errors.Join(f.Chmod(0o600), pem.Encode(f, &pem.Block{Type: pemType, Bytes: der}), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes a new name in a folder durable.
func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// LoadKey reads the key WriteKey wrote. It refuses, with a [KeyError] that says
// what to do, a file that anyone but its owner can touch, anything but one PKCS#8
// PEM block, a key that is not Ed25519, and the published test key.
func LoadKey(path string) (Key, error) {
	data, err := readKeyFile(path)
	if err != nil {
		return Key{}, err
	}
	k, err := parseKey(data)
	var fault *KeyError
	if errors.As(err, &fault) {
		fault.Path = path
	}
	return k, err
}

func readKeyFile(path string) (data []byte, err error) {
	// Nobody is waited for to write into a named pipe, which is refused below.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("reading signing key: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// The open file is asked, not the path: it cannot be exchanged in between.
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading signing key: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, &KeyError{Fault: FaultFormat, Path: path, What: "not a regular file: give the path of a key file"}
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, &KeyError{Fault: FaultMode, Path: path, What: fmt.Sprintf(
			"mode %04o lets others at the private key: run chmod 600 on it, and make a new key if it may have been read", mode)}
	}
	data, err = io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading signing key: %w", err)
	}
	if len(data) > maxKeyFile {
		return nil, &KeyError{Fault: FaultFormat, Path: path, What: "too large for a key file: make one with keys new"}
	}
	return data, nil
}

// parseKey reads exactly one PKCS#8 PEM block.
func parseKey(data []byte) (Key, error) {
	// Counted before decoding: pem.Decode skips what it cannot read.
	if n := bytes.Count(data, []byte("-----BEGIN ")); n != 1 {
		return Key{}, &KeyError{Fault: FaultFormat,
			What: fmt.Sprintf("%d PEM blocks where one is wanted: keep each key in a file of its own", n)}
	}
	block, rest := pem.Decode(data)
	if block == nil || len(bytes.TrimSpace(rest)) != 0 {
		return Key{}, &KeyError{Fault: FaultFormat, What: "not a whole PEM file: make a key with keys new"}
	}
	switch {
	case block.Type == "ENCRYPTED PRIVATE KEY" || len(block.Headers) != 0:
		return Key{}, &KeyError{Fault: FaultEncrypted,
			What: "the key asks for a password, which a crawl cannot give: decrypt it with openssl pkcs8 and keep it at mode 0600"}
	case block.Type != pemType:
		return Key{}, &KeyError{Fault: FaultFormat,
			What: fmt.Sprintf("PEM block %q where %q (PKCS#8) is wanted: make a key with keys new", block.Type, pemType)}
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return Key{}, &KeyError{Fault: FaultFormat, What: "not a PKCS#8 key: make a key with keys new", Err: err}
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return Key{}, &KeyError{Fault: FaultNotEd25519, What: fmt.Sprintf("%T where an Ed25519 key is wanted: make one with keys new", parsed)}
	}
	k := keyOf(private)
	if k.ID == testKeyID {
		return Key{}, testKeyError()
	}
	return k, nil
}

func testKeyError() *KeyError {
	return &KeyError{Fault: FaultTestKey,
		What: "this is the test key printed in RFC 9421, anyone can sign with it: make a key with keys new"}
}

// KeyFile is a key as the configuration names it.
type KeyFile struct {
	Path      string
	NotBefore time.Time // zero: valid at once
	Expires   time.Time // zero: never
}

// LoadKeySet reads the files of a configuration into a set, in their order.
func LoadKeySet(files []KeyFile) (KeySet, error) {
	keys := make([]Key, 0, len(files))
	for _, file := range files {
		k, err := LoadKey(file.Path)
		if err != nil {
			return KeySet{}, err
		}
		k.NotBefore, k.Expires = file.NotBefore, file.Expires
		keys = append(keys, k)
	}
	return NewKeySet(keys...)
}
