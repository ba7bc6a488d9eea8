package sources

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zip"
	"github.com/klauspost/compress/zstd"
)

// listFile is a list's file opened for one reading, decompressed.
type listFile struct {
	io.Reader
	info    fs.FileInfo
	closers []func() error // in opening order
}

// Close closes what was opened, innermost first.
func (f *listFile) Close() error {
	var errs []error
	for i := len(f.closers) - 1; i >= 0; i-- {
		errs = append(errs, f.closers[i]())
	}
	return errors.Join(errs...)
}

// openFile opens the file at path for reading from its beginning. Compression
// is told by the first bytes, as names lie. Errors are *ListError under the
// name given.
func openFile(path, name string) (*listFile, error) {
	f, err := open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &ListError{File: name, Msg: "there is no such file", Err: fs.ErrNotExist}
		}
		return nil, &ListError{File: name, Msg: "cannot be opened", Err: err}
	}
	l := &listFile{closers: []func() error{f.Close}}
	if err := l.decompress(f, name); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// open opens a file for reading. It does not wait for somebody to write into a
// named pipe, so that one can be refused.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func (l *listFile) decompress(f *os.File, name string) error {
	info, err := f.Stat()
	if err != nil {
		return &ListError{File: name, Msg: "cannot be examined", Err: err}
	}
	l.info = info
	if info.IsDir() {
		return &ListError{File: name, Msg: "is a directory; name the list's file in it"}
	}
	if !info.Mode().IsRegular() {
		// A list is read twice; a pipe gives its bytes once.
		return &ListError{File: name, Msg: "is not a regular file; give - to read a list from standard input"}
	}
	r := bufio.NewReaderSize(f, 64<<10)
	magic, err := r.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return &ListError{File: name, Msg: "cannot be read", Err: err}
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}): // RFC 1952, 2.3.1
		z, err := gzip.NewReader(r)
		if err != nil {
			return &ListError{File: name, Msg: "begins like gzip but is damaged", Err: err}
		}
		l.Reader = z
		l.closers = append(l.closers, z.Close)
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}): // RFC 8878, 3.1.1
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return &ListError{File: name, Msg: "begins like zstd but is damaged", Err: err}
		}
		l.Reader = z
		l.closers = append(l.closers, func() error { z.Close(); return nil })
	case bytes.HasPrefix(magic, []byte("PK\x03\x04")), bytes.HasPrefix(magic, []byte("PK\x05\x06")):
		return l.unzip(f, name)
	default:
		l.Reader = r
	}
	return nil
}

// unzip opens the one file in a ZIP archive.
func (l *listFile) unzip(f *os.File, name string) error {
	z, err := zip.NewReader(f, l.info.Size())
	if err != nil {
		return &ListError{File: name, Msg: "begins like a ZIP archive but is damaged or cut short; get it again", Err: err}
	}
	var member *zip.File
	for _, m := range z.File {
		if m.FileInfo().IsDir() {
			continue
		}
		if member != nil {
			return &ListError{File: name, Msg: "the ZIP archive holds more than one file; give one that holds the list alone"}
		}
		member = m
	}
	if member == nil {
		return &ListError{File: name, Msg: "the ZIP archive holds no file"}
	}
	if member.Flags&1 != 0 { // APPNOTE 4.4.4: encrypted
		return &ListError{File: name, Msg: "the ZIP archive is encrypted; give it decrypted"}
	}
	r, err := member.Open()
	if err != nil {
		return &ListError{File: name, Msg: "the list in the ZIP archive cannot be opened", Err: err}
	}
	l.Reader = r
	l.closers = append(l.closers, r.Close)
	return nil
}
