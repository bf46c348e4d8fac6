package packages

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// The format of RPM packages (rpm's docs/manual/format_v4.md): a lead, the header of the signature, and
// the header with the tags. The library github.com/cavaliergopher/rpm v1.3.0 is not used, because it
// allocates memory for as many numbers as a tag claims to have, up to 2^32.
const (
	rpmMagic       = "\xed\xab\xee\xdb"
	rpmLead        = 96
	rpmHeaderMagic = "\x8e\xad\xe8\x01"
	rpmHeaderSize  = 16
	rpmEntry       = 16
	// maxRPMEntries and maxRPMStore limit a header. rpm itself has the limits 64 Ki and 256 MiB. Only
	// packages with some 100,000 files need more than 32 MiB.
	maxRPMEntries = 64 << 10
	maxRPMStore   = 32 << 20

	tagName         = 1000
	tagVersion      = 1001
	tagRelease      = 1002
	tagEpoch        = 1003
	tagArchitecture = 1022
	tagSourceRPM    = 1044 // only binary packages have it
	typeInt32       = 4
	typeString      = 6
	maxRPMText      = 256
)

var errRPMCut = errors.New("it is cut off in its header")

// readRPM reads the name, the version (EPOCH:VERSION-RELEASE, without an epoch of 0) and the architecture
// of an RPM package.
func readRPM(in io.Reader) (facts, error) {
	lead := make([]byte, rpmLead)
	if _, err := io.ReadFull(in, lead); err != nil {
		return facts{}, errRPMCut
	}
	_, signature, err := rpmHeader(in)
	if err != nil {
		return facts{}, err
	}
	// The header of the signature ends at a multiple of 8 bytes.
	if _, err := io.CopyN(io.Discard, in, signature+(8-signature%8)%8); err != nil {
		return facts{}, errRPMCut
	}
	entries, size, err := rpmHeader(in)
	if err != nil {
		return facts{}, err
	}
	var store bytes.Buffer // grows with the bytes that are there, not with the announced size
	if _, err := io.CopyN(&store, in, size); err != nil {
		return facts{}, errRPMCut
	}
	return rpmTags(entries, store.Bytes())
}

// rpmHeader reads the beginning of a header: its entries, and the size of the store that follows.
func rpmHeader(in io.Reader) (entries []byte, store int64, err error) {
	head := make([]byte, rpmHeaderSize)
	if _, err := io.ReadFull(in, head); err != nil {
		return nil, 0, errRPMCut
	}
	count, size := binary.BigEndian.Uint32(head[8:]), binary.BigEndian.Uint32(head[12:])
	if string(head[:4]) != rpmHeaderMagic || count > maxRPMEntries || size > maxRPMStore {
		return nil, 0, fmt.Errorf("a header of it is damaged, or has more than %d entries or %d bytes", maxRPMEntries, maxRPMStore)
	}
	entries = make([]byte, int(count)*rpmEntry)
	if _, err := io.ReadFull(in, entries); err != nil {
		return nil, 0, errRPMCut
	}
	return entries, int64(size), nil
}

func rpmTags(entries, store []byte) (facts, error) {
	values := map[uint32]string{}
	for ; len(entries) >= rpmEntry; entries = entries[rpmEntry:] {
		tag, kind, at := binary.BigEndian.Uint32(entries), binary.BigEndian.Uint32(entries[4:]), int64(binary.BigEndian.Uint32(entries[8:]))
		switch tag {
		case tagName, tagVersion, tagRelease, tagArchitecture, tagSourceRPM, tagEpoch:
		default:
			continue
		}
		value, err := rpmValue(store, kind, at)
		if _, twice := values[tag]; twice || err != nil {
			return facts{}, fmt.Errorf("tag %d of its header is damaged", tag)
		}
		values[tag] = value
	}
	if _, binary := values[tagSourceRPM]; !binary {
		return facts{}, errors.New("it is a source package: upload the binary package that was built from it")
	}
	f := facts{format: protocol.FormatRPM, name: values[tagName], version: values[tagVersion] + "-" + values[tagRelease], architecture: values[tagArchitecture]}
	if epoch := values[tagEpoch]; epoch != "" && epoch != "0" {
		f.version = epoch + ":" + f.version
	}
	if values[tagVersion] == "" || values[tagRelease] == "" || !packageVersion.MatchString(f.version) {
		return facts{}, fmt.Errorf("its version %.80q is not valid", f.version)
	}
	if f.architecture != "" && !packageName.MatchString(f.architecture) {
		return facts{}, fmt.Errorf("its architecture %.80q is not valid", f.architecture)
	}
	return f, checkName(f.name)
}

// rpmValue returns the value of a string, or of a number.
func rpmValue(store []byte, kind uint32, at int64) (string, error) {
	if at >= int64(len(store)) {
		return "", errRPMCut
	}
	rest := store[at:]
	switch {
	case kind == typeInt32 && len(rest) >= 4:
		return strconv.FormatUint(uint64(binary.BigEndian.Uint32(rest)), 10), nil
	case kind == typeString:
		if end := bytes.IndexByte(rest[:min(len(rest), maxRPMText)], 0); end >= 0 {
			return string(rest[:end]), nil
		}
	}
	return "", errRPMCut
}
