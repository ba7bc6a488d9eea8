package sink

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// zstdCodec compresses pages with one encoder and a window little larger than
// a page. That of parquet-go keeps a pool of encoders of 16 MB each, which
// every garbage collection empties.
type zstdCodec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func newZstdCodec() (*zstdCodec, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(512<<10),
		zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("making a zstd encoder: %w", err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("making a zstd decoder: %w", err)
	}
	return &zstdCodec{encoder: encoder, decoder: decoder}, nil
}

// String names the codec, as the interface of parquet-go asks.
func (c *zstdCodec) String() string { return "ZSTD" }

// CompressionCodec is the codec's number in the file's metadata.
func (c *zstdCodec) CompressionCodec() format.CompressionCodec { return format.Zstd }

// Encode compresses src into the memory of dst.
func (c *zstdCodec) Encode(dst, src []byte) ([]byte, error) {
	return c.encoder.EncodeAll(src, dst[:0]), nil
}

// Decode is the inverse of Encode.
func (c *zstdCodec) Decode(dst, src []byte) ([]byte, error) {
	return c.decoder.DecodeAll(src, dst[:0])
}
