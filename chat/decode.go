package chat

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// Why a compressed body is not read.
var (
	ErrTooLarge = errors.New("chat: larger than the limit when unpacked")
	ErrEncoding = errors.New("chat: unknown or broken content encoding")
)

// maxWindow is the largest zstd window that a content coding may ask for
// (RFC 9659), so the most memory that a few hostile bytes can claim.
const maxWindow = 8 << 20

// Decode unpacks body as its Content-Encoding says, to at most limit bytes.
// The error is ErrTooLarge or ErrEncoding. The result may share body's memory.
func Decode(encoding string, body []byte, limit int) ([]byte, error) {
	out, err := decode(encoding, body, limit)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// decode also returns what could be unpacked before an error.
func decode(encoding string, body []byte, limit int) ([]byte, error) {
	var r io.Reader = bytes.NewReader(body)
	var err error
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		if len(body) > limit {
			return body[:limit], ErrTooLarge
		}
		return body, nil
	case "gzip", "x-gzip":
		r, err = gzip.NewReader(r)
	case "deflate":
		// Meant is zlib; some send the bare format.
		if z, zerr := zlib.NewReader(bytes.NewReader(body)); zerr == nil {
			r = z
		} else {
			r = flate.NewReader(r)
		}
	case "br":
		r = brotli.NewReader(r)
	case "zstd":
		var z *zstd.Decoder
		z, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err == nil {
			defer z.Close()
			r = z
		}
	default:
		return nil, ErrEncoding
	}
	if err != nil {
		return nil, ErrEncoding
	}
	out, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	switch {
	case len(out) > limit:
		return out[:limit], ErrTooLarge
	case err != nil:
		return out, ErrEncoding
	}
	return out, nil
}
