package xz

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

const (
	magic         = "\xfd7zXZ\x00"
	streamHeader  = 12
	streamFooter  = 12
	footerMagic   = "YZ"
	filters       = 0x03 // these bits of a block's flags are the number of filters, less one
	packedSize    = 0x40
	unpackedSize  = 0x80
	filterLZMA2   = 0x21
	largestIndex  = 1 << 20 // in bytes; enough for some 100,000 blocks
	smallestBlock = 8       // bytes of a block's header
)

var (
	errStart  = errors.New("it does not begin as an xz file does, with a header and a block")
	errHeader = errors.New("the header of its xz block is damaged")
	errFilter = errors.New("its xz block uses a filter other than LZMA2")
	errEnd    = errors.New("its xz file does not end after one stream with an index")
)

// checkSizes are the sizes, in bytes, of the checksum after each block, by the type of the check.
var checkSizes = [16]int64{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}

// Reader reads the content of an xz file with one stream.
type Reader struct {
	in      *counter
	memory  int64
	check   int64
	block   *lzma.Reader2
	started int64 // offset of the current block
	err     error
}

// counter counts the bytes that were read. It has no buffer of its own, so that a block ends exactly
// where its data end.
type counter struct {
	from *bufio.Reader
	n    int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

// NewReader returns a reader of an xz file. Its dictionary takes at most memory bytes. A file that needs
// a larger one, such as one that refers back by more bytes, ends with an error.
func NewReader(packed io.Reader, memory int64) (*Reader, error) {
	r := &Reader{in: &counter{from: bufio.NewReader(packed)}, memory: memory}
	head := make([]byte, streamHeader)
	if _, err := io.ReadFull(r.in, head); err != nil {
		return nil, err
	}
	if string(head[:len(magic)]) != magic {
		return nil, errStart
	}
	r.check = checkSizes[head[7]&0x0f]
	if next, err := r.in.from.Peek(1); err != nil || next[0] == 0 { // a package or an archive is never empty
		return nil, errors.Join(errStart, err)
	}
	return r, r.next()
}

func (r *Reader) Read(p []byte) (n int, err error) {
	for r.err == nil && n == 0 && len(p) > 0 {
		if n, err = r.block.Read(p); err == nil {
			continue
		}
		if r.err = err; errors.Is(err, io.EOF) {
			r.err = r.endBlock()
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, r.err
}

// endBlock skips the padding and the checksum of a block, and begins the next block. It returns io.EOF
// at the end of the file.
func (r *Reader) endBlock() error {
	padding := (4 - (r.in.n-r.started)%4) % 4
	if _, err := io.CopyN(io.Discard, r.in, padding+r.check); err != nil {
		return io.ErrUnexpectedEOF
	}
	return r.next()
}

func (r *Reader) next() error {
	r.started = r.in.n
	first := make([]byte, 1)
	if _, err := io.ReadFull(r.in, first); err != nil {
		return io.ErrUnexpectedEOF
	}
	if first[0] == 0 {
		return r.end()
	}
	block := make([]byte, (int(first[0])+1)*4)
	block[0] = first[0]
	if _, err := io.ReadFull(r.in, block[1:]); err != nil {
		return io.ErrUnexpectedEOF
	}
	dictionary, err := dictionarySize(block)
	if err != nil {
		return err
	}
	config := lzma.Reader2Config{DictCap: int(min(max(dictionary, lzma.MinDictCap), r.memory))}
	r.block, err = config.NewReader2(r.in)
	return err
}

// end reads the index, and checks that nothing follows it: other programs would unpack a second stream
// too.
func (r *Reader) end() error {
	rest, err := io.ReadAll(io.LimitReader(r.in, largestIndex+1))
	if err != nil {
		return err
	}
	index := len(rest) - streamFooter + 1 // with its first byte
	if len(rest) > largestIndex || index < 4 || string(rest[len(rest)-len(footerMagic):]) != footerMagic {
		return errEnd
	}
	if int64(index) != (int64(binary.LittleEndian.Uint32(rest[len(rest)-8:]))+1)*4 {
		return errEnd
	}
	return io.EOF
}

// dictionarySize returns the dictionary size, in bytes, that the header of a block asks for.
func dictionarySize(block []byte) (int64, error) {
	if len(block) < smallestBlock {
		return 0, errHeader
	}
	fields, sum := block[:len(block)-4], binary.LittleEndian.Uint32(block[len(block)-4:])
	if crc32.ChecksumIEEE(fields) != sum {
		return 0, errHeader
	}
	flags, fields := fields[1], fields[2:]
	for _, size := range []byte{packedSize, unpackedSize} {
		if flags&size != 0 {
			_, n := binary.Uvarint(fields)
			fields = fields[max(n, 0):]
		}
	}
	if flags&filters != 0 || len(fields) < 3 || fields[0] != filterLZMA2 || fields[1] != 1 {
		return 0, errFilter
	}
	return lzma.DecodeDictCap(fields[2])
}
