package apt

import (
	"compress/gzip"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/akraino-icn/bpa/pkg/depot/xz"
)

// unpack decompresses a member in the format that the extension of its name shows. The decompressor
// uses memory for at most maxUnpacked bytes. The caller must call done afterwards.
func unpack(name string, packed io.Reader) (unpacked io.Reader, done func(), err error) {
	done = func() {}
	switch name {
	case "control.tar":
		unpacked = packed
	case "control.tar.gz":
		unpacked, err = gzip.NewReader(packed)
	case "control.tar.xz":
		unpacked, err = xz.NewReader(packed, maxUnpacked) // enough, since at most maxUnpacked bytes are read
	case "control.tar.zst":
		var z *zstd.Decoder
		z, err = zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxUnpacked))
		if err == nil {
			unpacked, done = z, z.Close
		}
	default:
		err = malformed("its member %q has a compression that is not supported: dpkg writes gz, xz or zst", name)
	}
	if err != nil && !errors.Is(err, ErrFormat) {
		err = malformed("its %s cannot be unpacked: %v", name, err)
	}
	if err != nil {
		return nil, nil, err
	}
	return unpacked, done, nil
}
