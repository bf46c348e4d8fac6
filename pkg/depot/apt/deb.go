package apt

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

// These are the bounds for reading one package, in bytes and in members of its ar archive. The
// package pault.ag/go/debian/deb has no such bounds: see docs/decisions/2026-11-22-deb-reader.md.
// maxUnpacked is much larger than maxControl, because a control archive also contains lists of
// checksums, which take 5 MiB in the largest packages.
const (
	maxUnpacked = 16 << 20
	maxControl  = 256 << 10
	maxMembers  = 16
)

// ErrFormat means that a file is not a Debian package, or that the package is damaged.
var ErrFormat = errors.New("not a Debian package")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}

// ReadControl reads the control fields of a Debian package (deb(5), format 2.0) of size bytes. It
// checks that the package's data member is there, and does not read it. The error is ErrFormat if
// the file is not a valid package. Any other error comes from reading the file.
func ReadControl(file io.ReaderAt, size int64) (Control, error) {
	in := &source{file: file}
	text, err := controlText(in, size)
	if in.err != nil { // the disk failed; the package may be good
		return Control{}, in.err
	}
	if err != nil {
		return Control{}, err
	}
	return parseControl(string(text))
}

// source keeps the error of a failed read, which a decompressor would hide.
type source struct {
	file io.ReaderAt
	err  error
}

func (s *source) ReadAt(p []byte, at int64) (int, error) {
	n, err := s.file.ReadAt(p, at)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// controlText returns the content of a package's control file. The members must be debian-binary,
// control.tar* and data.tar*, in this order. Members whose names begin with "_" may stand between
// them.
func controlText(in io.ReaderAt, size int64) ([]byte, error) {
	at, err := checkMagic(in, size)
	if err != nil {
		return nil, err
	}
	var control *member
	for range maxMembers {
		m, err := readMember(in, at, size)
		if err != nil {
			return nil, err
		}
		at = m.end
		switch {
		case strings.HasPrefix(m.name, "_"):
		case control == nil && strings.HasPrefix(m.name, "control.tar"):
			control = m
		case control != nil && strings.HasPrefix(m.name, "data.tar"):
			return control.controlFile()
		default:
			return nil, malformed("its member %q is not where it has to be: the order is debian-binary, control.tar*, data.tar*", m.name)
		}
	}
	return nil, malformed("it has more than %d members before its data", maxMembers)
}

const (
	arMagic      = "!<arch>\n"
	arHeader     = 60
	arHeaderEnd  = "`\n"
	formatMember = "debian-binary"
)

// checkMagic checks the beginning of a package and returns the offset of the member after
// debian-binary.
func checkMagic(in io.ReaderAt, size int64) (int64, error) {
	magic := make([]byte, len(arMagic))
	if n, _ := in.ReadAt(magic, 0); string(magic[:n]) != arMagic {
		return 0, malformed("it does not begin as an ar archive")
	}
	first, err := readMember(in, int64(len(arMagic)), size)
	if err != nil {
		return 0, err
	}
	format := make([]byte, 2)
	n, _ := first.data.ReadAt(format, 0)
	if first.name != formatMember || string(format[:n]) != "2." {
		return 0, malformed("its first member is not %s of format 2", formatMember)
	}
	return first.end, nil
}

// member is a file in an ar archive.
type member struct {
	name string
	data *io.SectionReader
	end  int64 // offset of the next member
}

func readMember(in io.ReaderAt, at, size int64) (*member, error) {
	header := make([]byte, arHeader)
	if n, _ := in.ReadAt(header, at); n < arHeader {
		return nil, malformed("it is cut off after %d bytes, before its data", size)
	}
	length, err := strconv.ParseUint(strings.TrimRight(string(header[48:58]), " "), 10, 63)
	if err != nil || string(header[58:]) != arHeaderEnd {
		return nil, malformed("the header of the member at byte %d is damaged", at)
	}
	name := strings.TrimSuffix(strings.TrimRight(string(header[:16]), " "), "/")
	start, have := at+arHeader, int64(length) // length has at most ten digits, so nothing overflows below
	if have > size-start {
		return nil, malformed("it is cut off: its member %q should have %d bytes and has %d", name, have, size-start)
	}
	return &member{name: name, data: io.NewSectionReader(in, start, have), end: start + have + have%2}, nil
}

// controlFile returns the content of the file "control" in a control archive.
func (m *member) controlFile() ([]byte, error) {
	unpacked, done, err := unpack(m.name, m.data)
	if err != nil {
		return nil, err
	}
	defer done()
	limited := &io.LimitedReader{R: unpacked, N: maxUnpacked}
	files := tar.NewReader(limited)
	for {
		header, err := files.Next()
		switch {
		case limited.N == 0:
			return nil, malformed("there is no control file in the first %d bytes of its %s", maxUnpacked, m.name)
		case errors.Is(err, io.EOF):
			return nil, malformed("there is no control file in its %s", m.name)
		case err != nil:
			return nil, malformed("its %s cannot be read: %v", m.name, err)
		}
		if path.Clean(header.Name) == "control" && header.Typeflag == tar.TypeReg {
			return readBounded(files, m.name)
		}
	}
}

func readBounded(control io.Reader, in string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(control, maxControl+1))
	if err != nil {
		return nil, malformed("the control file in its %s cannot be read: %v", in, err)
	}
	if len(text) > maxControl {
		return nil, malformed("its control file has more than %d bytes", maxControl)
	}
	return text, nil
}
