package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// The layout of a bbolt file, version 2, as its package documents it: pages of
// one size, the first two of them meta pages, which a commit writes by turns;
// below the newer one a tree of branch and leaf pages, copied on write. A page
// begins with its id, kind, element count and the number of pages that follow
// it as its overflow. Numbers have the machine's byte order.
const (
	pageSize   = 4096
	pageHeader = 16
	elemSize   = 16
	metaSize   = 64 // up to and without the page header, with the checksum

	boltMagic   = 0xED0CDAED
	boltVersion = 2
	noFreelist  = ^uint64(0) // the file has no list of free pages (Options.NoFreelistSync)

	branchPage = 0x01
	leafPage   = 0x02

	bucketElem   = 0x01
	bucketHeader = 16    // root page and sequence
	maxBoltKey   = 32768 // bbolt.MaxKeySize

	maxDepth = 32 // a tree of 4 KiB pages never gets near
)

var native = binary.NativeEndian

var errShort = errors.New("the file is too short")

// meta is what a meta page says.
type meta struct {
	root  uint64 // page of the root bucket
	pages uint64 // pages in use or once in use: all ids are below
	txid  uint64
}

// readMeta reads both meta pages and returns the newer. Both must be whole: a
// file whose newer one is damaged looks like the commit before the last, and
// going on from there would ask again what was asked since.
func readMeta(r io.ReaderAt, size int64) (meta, error) {
	if size < 2*pageSize {
		return meta{}, errShort
	}
	var m [2]meta
	for i := range m {
		var page [pageHeader + metaSize]byte
		if _, err := r.ReadAt(page[:], int64(i)*pageSize); err != nil {
			return meta{}, fmt.Errorf("reading meta page %d: %w", i, err)
		}
		b := page[pageHeader:]
		if native.Uint32(b) != boltMagic {
			return meta{}, errForeign
		}
		sum := fnv.New64a()
		sum.Write(b[:metaSize-8]) // never fails (hash.Hash)
		if sum.Sum64() != native.Uint64(b[metaSize-8:]) {
			return meta{}, fmt.Errorf("meta page %d has a wrong checksum", i)
		}
		if native.Uint32(b[4:]) != boltVersion || native.Uint32(b[8:]) != pageSize {
			return meta{}, errForeign
		}
		m[i] = meta{root: native.Uint64(b[16:]), pages: native.Uint64(b[40:]), txid: native.Uint64(b[48:])}
		if free := native.Uint64(b[32:]); free != noFreelist && m[i].txid > 1 {
			return meta{}, errForeign
		}
	}
	newer, older := m[0], m[1]
	if older.txid > newer.txid {
		newer, older = older, newer
	}
	if newer.txid != older.txid+1 {
		return meta{}, fmt.Errorf("the meta pages are of the commits %d and %d", older.txid, newer.txid)
	}
	if newer.pages > uint64(size/pageSize) {
		return meta{}, fmt.Errorf("%d pages are missing at its end", newer.pages-uint64(size/pageSize))
	}
	return newer, nil
}

// errForeign is a file that another program wrote.
var errForeign = errors.New("it is no state file of this program")

// errStop is returned by a visit that has enough.
var errStop = errors.New("stop")

// element is one element of a leaf page; its slices alias the page.
type element struct {
	key, value []byte
	bucket     bool
}

// bucket is a named tree: on pages of its own, or within the leaf that names it.
type bucket struct {
	root   uint64 // 0: inline
	inline []byte // a page, when root is 0
}

func (e element) asBucket() (bucket, error) {
	if !e.bucket || len(e.value) < bucketHeader {
		return bucket{}, fmt.Errorf("%q is no bucket", e.key)
	}
	b := bucket{root: native.Uint64(e.value)}
	if b.root == 0 {
		b.inline = bytes.Clone(e.value[bucketHeader:])
	}
	return b, nil
}

// walker visits the elements of trees in the order of their keys. It trusts
// nothing it reads: pages in range, each used once, keys in order and within
// what the branches above them say.
type walker struct {
	r     io.ReaderAt
	pages uint64
	used  []bool // by page; nil when pages used twice need not be found
	from  []byte // keys below are passed over; nil: none
	visit func(element) error
}

// walk visits a bucket.
func (w *walker) walk(b bucket) error {
	if b.root == 0 {
		return w.leaf(b.inline, nil, nil)
	}
	return w.page(b.root, nil, nil, 0)
}

// page visits the tree below a page whose keys k are low <= k < high; nil is no
// bound.
func (w *walker) page(id uint64, low, high []byte, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("page %d: the tree is too deep", id)
	}
	p, err := w.read(id)
	if err != nil {
		return err
	}
	switch kind := native.Uint16(p[8:]); {
	case kind == branchPage:
		err = w.branch(p, low, high, depth)
	case kind == leafPage && (depth == 0 || native.Uint16(p[10:]) > 0):
		err = w.leaf(p, low, high)
	default:
		err = fmt.Errorf("kind %#x is out of place", kind)
	}
	if err != nil && depth == 0 && !errors.Is(err, errStop) {
		return fmt.Errorf("below page %d: %w", id, err)
	}
	return err
}

// read reads a page with its overflow and marks it as used.
func (w *walker) read(id uint64) ([]byte, error) {
	if id < 2 || id >= w.pages {
		return nil, fmt.Errorf("page %d of %d is out of range", id, w.pages)
	}
	first := make([]byte, pageSize)
	if _, err := w.r.ReadAt(first, int64(id)*pageSize); err != nil {
		return nil, fmt.Errorf("reading page %d: %w", id, err)
	}
	if native.Uint64(first) != id {
		return nil, fmt.Errorf("page %d says it is page %d", id, native.Uint64(first))
	}
	n := uint64(native.Uint32(first[12:])) + 1
	if n > w.pages-id {
		return nil, fmt.Errorf("page %d: its %d pages are out of range", id, n)
	}
	if w.used != nil {
		for i := id; i < id+n; i++ {
			if w.used[i] {
				return nil, fmt.Errorf("page %d is used twice", i)
			}
			w.used[i] = true
		}
	}
	if n == 1 {
		return first, nil
	}
	p := make([]byte, n*pageSize)
	copy(p, first)
	if _, err := w.r.ReadAt(p[pageSize:], int64(id+1)*pageSize); err != nil {
		return nil, fmt.Errorf("reading page %d: %w", id, err)
	}
	return p, nil
}

func (w *walker) branch(p, low, high []byte, depth int) error {
	count := int(native.Uint16(p[10:]))
	if count == 0 {
		return errors.New("a branch page without elements")
	}
	keys, children := make([][]byte, count), make([]uint64, count)
	for i := range count {
		at := pageHeader + i*elemSize
		if at+elemSize > len(p) {
			return errors.New("elements beyond the page")
		}
		key, err := cut(p, at, native.Uint32(p[at:]), native.Uint32(p[at+4:]))
		if err != nil {
			return err
		}
		if i > 0 && bytes.Compare(keys[i-1], key) >= 0 {
			return errors.New("branch keys out of order")
		}
		if err := within(key, low, high); err != nil {
			return err
		}
		keys[i], children[i] = key, native.Uint64(p[at+8:])
	}
	for i, child := range children {
		upper := high
		if i+1 < count {
			upper = keys[i+1]
		}
		if w.from != nil && upper != nil && bytes.Compare(upper, w.from) <= 0 {
			continue
		}
		if err := w.page(child, keys[i], upper, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) leaf(p, low, high []byte) error {
	if len(p) < pageHeader || native.Uint16(p[8:]) != leafPage {
		return errors.New("an inline bucket is no leaf page")
	}
	var last []byte
	for i := range int(native.Uint16(p[10:])) {
		at := pageHeader + i*elemSize
		if at+elemSize > len(p) {
			return errors.New("elements beyond the page")
		}
		flags, pos := native.Uint32(p[at:]), native.Uint32(p[at+4:])
		ksize, vsize := native.Uint32(p[at+8:]), native.Uint32(p[at+12:])
		if flags&^bucketElem != 0 {
			return fmt.Errorf("an element of kind %#x", flags)
		}
		key, err := cut(p, at, pos, ksize)
		if err != nil {
			return err
		}
		from := uint64(at) + uint64(pos) + uint64(ksize)
		if from+uint64(vsize) > uint64(len(p)) {
			return errors.New("a value beyond its page")
		}
		if last != nil && bytes.Compare(last, key) >= 0 {
			return errors.New("keys out of order")
		}
		if err := within(key, low, high); err != nil {
			return err
		}
		last = key
		if w.from != nil && bytes.Compare(key, w.from) < 0 {
			continue
		}
		if err := w.visit(element{key: key, value: p[from : from+uint64(vsize)], bucket: flags != 0}); err != nil {
			return err
		}
	}
	return nil
}

// cut takes an element's key out of its page; pos counts from the element.
func cut(p []byte, at int, pos, size uint32) ([]byte, error) {
	from := uint64(at) + uint64(pos)
	if size == 0 || size > maxBoltKey || from+uint64(size) > uint64(len(p)) {
		return nil, fmt.Errorf("a key of %d bytes at %d", size, from)
	}
	return p[from : from+uint64(size)], nil
}

func within(key, low, high []byte) error {
	if low != nil && bytes.Compare(key, low) < 0 || high != nil && bytes.Compare(key, high) >= 0 {
		return errors.New("a key on the wrong page")
	}
	return nil
}
