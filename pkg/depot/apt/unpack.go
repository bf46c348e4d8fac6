package apt

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz/lzma"
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
		unpacked, err = unpackXZ(bufio.NewReader(packed))
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

const (
	xzMagic        = "\xfd7zXZ\x00"
	xzStreamHeader = 12
	xzFilters      = 0x03 // these bits of a block's flags are the number of filters, less one
	xzPackedSize   = 0x40
	xzUnpackedSize = 0x80
	xzLZMA2        = 0x21
)

// unpackXZ reads the first block of an xz file; a file below 24 MiB has only one. It does not use a
// reader for whole files, because such a reader allocates the memory that a block's header asks
// for, up to 4 GiB. A dictionary of maxUnpacked bytes is enough here, since at most maxUnpacked
// bytes are read.
func unpackXZ(packed io.Reader) (io.Reader, error) {
	head := make([]byte, xzStreamHeader+1)
	if _, err := io.ReadFull(packed, head); err != nil {
		return nil, err
	}
	if string(head[:len(xzMagic)]) != xzMagic || head[xzStreamHeader] == 0 {
		return nil, malformed("it does not begin as an xz file does, with a header and a block")
	}
	block := make([]byte, (int(head[xzStreamHeader])+1)*4)
	block[0] = head[xzStreamHeader]
	if _, err := io.ReadFull(packed, block[1:]); err != nil {
		return nil, err
	}
	dictionary, err := xzDictionary(block)
	if err != nil {
		return nil, err
	}
	config := lzma.Reader2Config{DictCap: int(min(max(dictionary, lzma.MinDictCap), maxUnpacked))}
	return config.NewReader2(packed)
}

// xzDictionary returns the dictionary size, in bytes, that the header of a block asks for.
func xzDictionary(block []byte) (int64, error) {
	fields, sum := block[:len(block)-4], binary.LittleEndian.Uint32(block[len(block)-4:])
	if crc32.ChecksumIEEE(fields) != sum {
		return 0, malformed("the header of its xz block is damaged")
	}
	flags, fields := fields[1], fields[2:]
	for _, size := range []byte{xzPackedSize, xzUnpackedSize} {
		if flags&size != 0 {
			_, n := binary.Uvarint(fields)
			fields = fields[max(n, 0):]
		}
	}
	if flags&xzFilters != 0 || len(fields) < 3 || fields[0] != xzLZMA2 || fields[1] != 1 {
		return 0, malformed("its xz block uses a filter other than LZMA2")
	}
	return lzma.DecodeDictCap(fields[2])
}
