package packages

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/akraino-icn/bpa/pkg/depot/apt"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/xz"
)

// facts are what an upload says about its package. The name of a tar package is that of its upload.
type facts struct {
	format                      protocol.PackageFormat // empty: it is no package
	name, version, architecture string
	// problem is the reason why the upload is no usable package; empty: it is one.
	problem string
}

// maxWindow limits the memory of a decompressor in bytes. "xz -9" and "zstd -19 --long=26" need as much.
const maxWindow = 64 << 20

// source is the content of an upload. It keeps the error of a failed read, which a decompressor would
// hide, and ends when ctx does.
type source struct {
	ctx  context.Context //nolint:containedctx // it ends one read of an upload
	file io.ReadSeeker
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		s.err = err
		return 0, err
	}
	n, err := s.file.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// ReadAt is for the reader of Debian packages, which reads from one goroutine.
func (s *source) ReadAt(p []byte, at int64) (int, error) {
	if _, err := s.file.Seek(at, io.SeekStart); err != nil {
		s.err = err
		return 0, err
	}
	n, err := io.ReadFull(s, p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

// read reads an upload of size bytes. want is the format that the ending of its name shows; if it is
// empty, an upload of another format than deb and rpm is no package. An error means that the upload
// could not be read.
func read(ctx context.Context, file io.ReadSeeker, size int64, want protocol.PackageFormat) (facts, error) {
	in := &source{ctx: ctx, file: file}
	found, err := recognize(in, size, want)
	if in.err != nil {
		return facts{}, in.err
	}
	if err == nil && want != "" && found.format != want {
		err = fmt.Errorf("the ending of its name shows a %s package, but it is a %s package: upload it under another name", want, found.format)
	}
	if err != nil {
		return facts{format: found.format, problem: shorten(err.Error())}, nil
	}
	return found, nil
}

func recognize(in *source, size int64, want protocol.PackageFormat) (facts, error) {
	head := make([]byte, 8)
	n, err := in.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return facts{}, err
	}
	head = head[:n]
	if _, err := in.file.Seek(0, io.SeekStart); err != nil {
		in.err = err
		return facts{}, err
	}
	switch {
	case bytes.HasPrefix(head, []byte("!<arch>\n")):
		control, err := apt.ReadControl(in, size)
		return facts{format: protocol.FormatDeb, name: control.Package, version: control.Version, architecture: control.Architecture}, cmp.Or(err, checkName(control.Package))
	case bytes.HasPrefix(head, []byte(rpmMagic)):
		found, err := readRPM(bufio.NewReader(in))
		found.format = protocol.FormatRPM
		return found, err
	case want == protocol.FormatTar:
		return readPacked(in, head)
	case want != "":
		return facts{}, fmt.Errorf("it is not a %s package", want)
	}
	return facts{}, nil
}

// readPacked reads a tar archive whose first bytes show how it is packed.
func readPacked(in io.Reader, head []byte) (found facts, err error) {
	unpacked := in
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		unpacked, err = gzip.NewReader(bufio.NewReader(in))
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		unpacked, err = xz.NewReader(in, maxWindow)
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		var z *zstd.Decoder
		if z, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow)); err == nil {
			defer z.Close()
			unpacked = z
		}
	}
	if err != nil {
		return facts{format: protocol.FormatTar}, fmt.Errorf("it cannot be unpacked: %w", err)
	}
	found, err = readTar(unpacked)
	found.format = protocol.FormatTar
	return found, err
}

// maxReason limits the text of a problem in bytes: it may quote the upload.
const maxReason = 600

func shorten(text string) string {
	if len(text) > maxReason {
		return text[:maxReason] + "..."
	}
	return text
}
