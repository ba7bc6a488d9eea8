package state

import (
	"encoding/binary"
	"fmt"
	"iter"
)

const (
	// chunkEntries is how many ranks share one record of the file: 1 KiB, so
	// that a commit of neighbouring ranks rewrites one page or two.
	chunkEntries = 4096
	chunkBytes   = chunkEntries / 4
)

// The two bits of an entry.
const (
	begunBit byte = 1
	endedBit byte = 2
)

// progress is two bits for each rank, four ranks to a byte: 250 kB for a
// million.
type progress struct {
	entries int64
	bits    []byte // whole chunks
}

func newProgress(entries int64) progress {
	chunks := (entries + chunkEntries - 1) / chunkEntries
	return progress{entries: entries, bits: make([]byte, chunks*chunkBytes)}
}

// holds says whether rank is one of the list's.
func (p progress) holds(rank int64) bool { return rank >= 1 && rank <= p.entries }

func (p progress) get(rank int64) byte {
	i := rank - 1
	return p.bits[i/4] >> (2 * (i % 4)) & 3
}

// set adds bits to a rank and returns the number of its chunk.
func (p progress) set(rank int64, bits byte) uint32 {
	i := rank - 1
	p.bits[i/4] |= bits << (2 * (i % 4))
	return uint32(i / chunkEntries)
}

// clear takes both bits of a rank back.
func (p progress) clear(rank int64) {
	i := rank - 1
	p.bits[i/4] &^= 3 << (2 * (i % 4))
}

// chunk is a chunk's bytes, aliasing the whole.
func (p progress) chunk(n uint32) []byte {
	from := int(n) * chunkBytes
	return p.bits[from : from+chunkBytes]
}

// load puts a chunk read from the file in its place.
func (p progress) load(key, value []byte) error {
	if len(key) != 4 || len(value) != chunkBytes {
		return fmt.Errorf("a progress record of %d and %d bytes", len(key), len(value))
	}
	n := binary.BigEndian.Uint32(key)
	if int64(n) >= int64(len(p.bits)/chunkBytes) {
		return fmt.Errorf("progress beyond the %d entries", p.entries)
	}
	copy(p.chunk(n), value)
	return nil
}

// open yields the ranks that have begun and not ended, in order.
func (p progress) open() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for at, four := range p.bits {
			if four&0x55 == 0 {
				continue
			}
			for i := range int64(4) {
				rank := int64(at)*4 + i + 1
				if four>>(2*i)&3 == begunBit && p.holds(rank) && !yield(rank) {
					return
				}
			}
		}
	}
}

// count is how many ranks have ended, and how many have begun and not ended.
func (p progress) count() (ended, open int64) {
	for _, four := range p.bits {
		for ; four != 0; four >>= 2 {
			switch {
			case four&endedBit != 0:
				ended++
			case four&begunBit != 0:
				open++
			}
		}
	}
	return ended, open
}

func chunkKey(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

func rankKey(rank int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(rank)) }
