package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"os"
	"strings"
	"syscall"
)

// The file's buckets and the keys of the header and of the digest.
const (
	headerBucket   = "header"
	progressBucket = "progress" // chunk number -> two bits for each of its ranks
	counterBucket  = "counters" // key -> numbers, 8 bytes each
	digestBucket   = "digest"   // one record: see digest
	rowsPrefix     = "rows:"    // and the table's name; rank -> zstd frame

	magicKey    = "magic"
	versionKey  = "version"
	entriesKey  = "entries"
	settingsKey = "settings"
	digestKey   = "digest"

	magic = "agentcensus state"
)

// digest sums up every record of the file. bbolt's data pages carry no
// checksum: a flipped bit, or a page of an earlier commit in the place of a
// later one, would be read as true. The digest is kept up with each record
// written and compared with the whole file when it is opened.
type digest struct {
	records uint64
	sum     uint64 // of the records' hashes, modulo 2^64
}

var crcTable = crc64.MakeTable(crc64.ECMA)

func recordHash(bucket string, key, value []byte) uint64 {
	var size [4]byte
	binary.BigEndian.PutUint32(size[:], uint32(len(key)))
	h := crc64.Update(0, crcTable, []byte(bucket))
	h = crc64.Update(h, crcTable, size[:])
	h = crc64.Update(h, crcTable, key)
	return crc64.Update(h, crcTable, value)
}

func (d *digest) add(bucket string, key, value []byte) {
	d.records++
	d.sum += recordHash(bucket, key, value)
}

func (d *digest) remove(bucket string, key, value []byte) {
	d.records--
	d.sum -= recordHash(bucket, key, value)
}

func (d digest) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, d.records)
	return binary.BigEndian.AppendUint64(b, d.sum)
}

// image is what a state file holds, but for the rows.
type image struct {
	header   Header
	progress progress
	counters map[string][]int64
	digest   digest
}

// inspect reads and checks the whole file at path. Its errors are *Error, or
// of the file system.
func inspect(path string) (_ *image, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the state file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("opening the state file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, &Error{Kind: Foreign, Path: path, Reason: "it is no regular file"}
	}
	img, err := load(f, info.Size())
	switch refusal := (*Error)(nil); {
	case errors.As(err, &refusal):
		refusal.Path = path
		return nil, refusal
	case errors.Is(err, errForeign):
		return nil, &Error{Kind: Foreign, Path: path, Reason: err.Error()}
	case errors.As(err, new(syscall.Errno)): // the disk's word, not the file's
		return nil, fmt.Errorf("reading the state file %s: %w", path, err)
	case err != nil:
		return nil, &Error{Kind: Damaged, Path: path, Reason: err.Error()}
	}
	return img, nil
}

// load reads a file of size bytes.
func load(r io.ReaderAt, size int64) (*image, error) {
	m, err := readMeta(r, size)
	if err != nil {
		return nil, err
	}
	w := &walker{r: r, pages: m.pages, used: make([]bool, m.pages)}
	buckets, err := w.buckets(m.root)
	if err != nil {
		return nil, err
	}
	img := &image{counters: map[string][]int64{}}
	// The header first: what another version's file looks like beyond it is
	// not known here.
	if err := w.header(buckets, img); err != nil {
		return nil, err
	}
	img.progress = newProgress(img.header.Entries)
	var written []byte
	for name, b := range buckets {
		take, err := img.taker(name, &written)
		if err != nil {
			return nil, err
		}
		if take == nil {
			continue
		}
		w.visit = func(e element) error {
			if e.bucket {
				return fmt.Errorf("a bucket within %s", name)
			}
			if err := take(e.key, e.value); err != nil {
				return err
			}
			if name != digestBucket {
				img.digest.add(name, e.key, e.value)
			}
			return nil
		}
		if err := w.walk(b); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
	}
	if !bytes.Equal(written, img.digest.encode()) {
		return nil, errors.New("its records do not add up to its digest")
	}
	return img, nil
}

// taker returns what reads the records of a bucket, or nil for one that has
// been read.
func (img *image) taker(name string, written *[]byte) (func(key, value []byte) error, error) {
	switch {
	case name == headerBucket:
		return nil, nil
	case name == progressBucket:
		return img.progress.load, nil
	case name == counterBucket:
		return img.loadCounter, nil
	case name == digestBucket:
		return func(key, value []byte) error {
			if string(key) != digestKey {
				return errors.New("more than a digest")
			}
			*written = bytes.Clone(value)
			return nil
		}, nil
	case strings.HasPrefix(name, rowsPrefix):
		return func(key, _ []byte) error {
			if len(key) != 8 || !img.progress.holds(int64(binary.BigEndian.Uint64(key))) {
				return fmt.Errorf("a row under the key %x", key)
			}
			return nil
		}, nil
	}
	return nil, fmt.Errorf("an unknown bucket %q", name)
}

func (img *image) loadCounter(key, value []byte) error {
	if len(key) > MaxKey || len(value) == 0 || len(value)%8 != 0 || len(value) > 8*MaxPlaces {
		return fmt.Errorf("a counter of %d bytes", len(value))
	}
	numbers := make([]int64, len(value)/8)
	for i := range numbers {
		numbers[i] = int64(binary.BigEndian.Uint64(value[8*i:]))
	}
	img.counters[string(key)] = numbers
	return nil
}

func encodeCounter(numbers []int64) []byte {
	b := make([]byte, 0, 8*len(numbers))
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return b
}

// buckets are the named trees of the root bucket.
func (w *walker) buckets(root uint64) (map[string]bucket, error) {
	found := map[string]bucket{}
	w.visit = func(e element) error {
		b, err := e.asBucket()
		if err != nil {
			return err
		}
		found[string(e.key)] = b
		return nil
	}
	if err := w.page(root, nil, nil, 0); err != nil {
		return nil, fmt.Errorf("reading the root: %w", err)
	}
	return found, nil
}

// header reads the header bucket into img and adds it to the digest.
func (w *walker) header(buckets map[string]bucket, img *image) error {
	b, ok := buckets[headerBucket]
	if !ok {
		return errForeign
	}
	fields := map[string][]byte{}
	w.visit = func(e element) error {
		fields[string(e.key)] = bytes.Clone(e.value)
		img.digest.add(headerBucket, e.key, e.value)
		return nil
	}
	if err := w.walk(b); err != nil {
		return fmt.Errorf("reading the header: %w", err)
	}
	if string(fields[magicKey]) != magic {
		return errForeign
	}
	if v := fields[versionKey]; len(v) != 4 || binary.BigEndian.Uint32(v) != Version {
		return &Error{Kind: Other, Reason: fmt.Sprintf("its layout is of version %x, this program's of version %d", v, Version)}
	}
	entries := fields[entriesKey]
	if len(entries) != 8 || binary.BigEndian.Uint64(entries) > MaxEntries {
		return errors.New("its header has no number of entries")
	}
	img.header = Header{Entries: int64(binary.BigEndian.Uint64(entries)), Settings: fields[settingsKey]}
	return nil
}

// headerFields are the records of the header bucket.
func headerFields(h Header) map[string][]byte {
	return map[string][]byte{
		magicKey:    []byte(magic),
		versionKey:  binary.BigEndian.AppendUint32(nil, Version),
		entriesKey:  binary.BigEndian.AppendUint64(nil, uint64(h.Entries)),
		settingsKey: h.Settings,
	}
}
