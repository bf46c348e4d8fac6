package packages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/akraino-icn/bpa/pkg/depot/apt/apttest"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// entry is a file of a tar archive: "NAME" is a file, "NAME/" a folder, "NAME -> TARGET" a link and
// "NAME => TARGET" a hard link. Files with the ending .sh are executable.
type entry struct{ name, content string }

func archive(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.content)), Typeflag: tar.TypeReg}
		if strings.HasSuffix(e.name, ".sh") {
			h.Mode = 0o755
		}
		if strings.HasSuffix(e.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if from, to, ok := strings.Cut(e.name, " -> "); ok {
			h.Name, h.Linkname, h.Typeflag = from, to, tar.TypeSymlink
		}
		if from, to, ok := strings.Cut(e.name, " => "); ok {
			h.Name, h.Linkname, h.Typeflag = from, to, tar.TypeLink
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pack(t testing.TB, content []byte, to func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := to(&b)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func toGzip(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }
func toZstd(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }

// toXZ writes blocks of a few bytes, as "xz -T" does with large ones.
func toXZ(w io.Writer) (io.WriteCloser, error) { return xz.WriterConfig{BlockSize: 1000}.NewWriter(w) }

// rpmTag is an entry of a header. A value of type int is an INT32.
type rpmTag struct {
	tag   uint32
	value any
}

func rpmPackage(tags ...rpmTag) []byte {
	b := append([]byte(rpmMagic), make([]byte, rpmLead-len(rpmMagic))...)
	b = append(b, rpmPart(rpmTag{1000, "signature"})...) // its store has 10 bytes and is padded to 16
	b = append(b, make([]byte, 6)...)
	return append(append(b, rpmPart(tags...)...), "payload"...)
}

func rpmPart(tags ...rpmTag) []byte {
	var entries, store []byte
	for _, t := range tags {
		kind := uint32(typeString)
		at := uint32(len(store))
		switch v := t.value.(type) {
		case int:
			kind = typeInt32
			store = binary.BigEndian.AppendUint32(store, uint32(v))
		case string:
			store = append(append(store, v...), 0)
		}
		for _, n := range []uint32{t.tag, kind, at, 1} {
			entries = binary.BigEndian.AppendUint32(entries, n)
		}
	}
	head := append([]byte(rpmHeaderMagic), 0, 0, 0, 0)
	head = binary.BigEndian.AppendUint32(head, uint32(len(tags)))
	head = binary.BigEndian.AppendUint32(head, uint32(len(store)))
	return append(append(head, entries...), store...)
}

var goodRPM = []rpmTag{{tagName, "NetworkManager"}, {tagVersion, "1.2"}, {tagRelease, "3.el9"}, {tagEpoch, 4}, {tagArchitecture, "x86_64"}, {tagSourceRPM, "n.src.rpm"}}

func readBytes(content []byte, want protocol.PackageFormat) (facts, error) {
	return read(context.Background(), bytes.NewReader(content), int64(len(content)), want)
}

func TestPackagesAreRead(t *testing.T) {
	plain := archive(t, entry{"./", ""}, entry{"./install.sh", "#!/bin/sh\n"}, entry{"./version", "1.7-2\nmore"}, entry{"./lib/", ""}, entry{"./lib/a.so -> ../b/c", ""}, entry{"d/deep => install.sh", ""})
	inFolder := archive(t, entry{"qat/version", "2"}, entry{"qat/install.sh", strings.Repeat("echo hello\n", 500)})
	tarFacts := facts{format: protocol.FormatTar, version: "1.7-2"}
	for name, c := range map[string]struct {
		content []byte
		ending  protocol.PackageFormat
		want    facts
	}{
		"deb":                   {apttest.Package(t, "app", "1:2-3", "amd64", ""), protocol.FormatDeb, facts{protocol.FormatDeb, "app", "1:2-3", "amd64", ""}},
		"deb without ending":    {apttest.Package(t, "app", "1", "all", ""), "", facts{protocol.FormatDeb, "app", "1", "all", ""}},
		"rpm":                   {rpmPackage(goodRPM...), protocol.FormatRPM, facts{protocol.FormatRPM, "NetworkManager", "4:1.2-3.el9", "x86_64", ""}},
		"rpm without epoch":     {rpmPackage(append(goodRPM[:3:3], goodRPM[4:]...)...), "", facts{protocol.FormatRPM, "NetworkManager", "1.2-3.el9", "x86_64", ""}},
		"tar":                   {plain, protocol.FormatTar, tarFacts},
		"tar.gz":                {pack(t, plain, toGzip), protocol.FormatTar, tarFacts},
		"tar.xz of many blocks": {pack(t, inFolder, toXZ), protocol.FormatTar, facts{format: protocol.FormatTar, version: "2"}},
		"tar.zst":               {pack(t, plain, toZstd), protocol.FormatTar, tarFacts},
		"without version":       {archive(t, entry{"install.sh", ""}, entry{"other/version", "1"}), protocol.FormatTar, facts{format: protocol.FormatTar}},
		"a program":             {[]byte("\x7fELF and so on"), "", facts{}},
		"an archive":            {plain, "", facts{}},
		"nothing":               {nil, "", facts{}},
	} {
		if got, err := readBytes(c.content, c.ending); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}

func TestUnusablePackages(t *testing.T) {
	install := entry{"install.sh", ""}
	for name, c := range map[string]struct {
		content []byte
		ending  protocol.PackageFormat
		want    string
	}{
		"no install.sh":           {archive(t, entry{"a", ""}), protocol.FormatTar, "has no program install.sh"},
		"two folders":             {archive(t, entry{"a/install.sh", ""}, entry{"b/c", ""}), protocol.FormatTar, "has no program install.sh"},
		"not executable":          {archive(t, entry{"install.sh/", ""}), protocol.FormatTar, "chmod +x"},
		"install.sh is a link":    {archive(t, entry{"install.sh -> a", ""}), protocol.FormatTar, "chmod +x"},
		"empty version":           {archive(t, install, entry{"version", "\n1"}), protocol.FormatTar, "is empty"},
		"absolute path":           {archive(t, install, entry{"/etc/passwd", ""}), protocol.FormatTar, "leads out"},
		"path with ..":            {archive(t, install, entry{"a/../../b", ""}), protocol.FormatTar, "leads out"},
		"absolute link":           {archive(t, install, entry{"a -> /etc", ""}), protocol.FormatTar, "leads out"},
		"link with ..":            {archive(t, install, entry{"a/b -> ../../c", ""}), protocol.FormatTar, "leads out"},
		"link through a link":     {archive(t, install, entry{"a/b -> ..", ""}, entry{"c -> a/b/..", ""}), protocol.FormatTar, "leads out"},
		"file below a link":       {archive(t, install, entry{"a -> b", ""}, entry{"a/c -> ../d", ""}), protocol.FormatTar, "below a link"},
		"link replaces a folder":  {archive(t, install, entry{"a/b/c", ""}, entry{"a/b -> ..", ""}), protocol.FormatTar, "replaces a folder"},
		"hard link out":           {archive(t, install, entry{"a => ../b", ""}), protocol.FormatTar, "leads out"},
		"hard link through links": {archive(t, install, entry{"a -> b", ""}, entry{"c => a/d", ""}), protocol.FormatTar, "leads out"},
		"hard link to a link":     {archive(t, install, entry{"a -> b", ""}, entry{"c => a", ""}), protocol.FormatTar, "leads out"},
		"text":                    {[]byte(strings.Repeat("text ", 200)), protocol.FormatTar, "cannot be read as a tar archive"},
		"cut off":                 {pack(t, archive(t, install), toGzip)[:30], protocol.FormatTar, "cannot be read"},
		"other format":            {apttest.Package(t, "app", "1", "all", ""), protocol.FormatTar, "shows a tar package, but it is a deb package"},
		"no deb":                  {[]byte("text"), protocol.FormatDeb, "not a deb package"},
		"damaged deb":             {apttest.Package(t, "app", "1", "all", "")[:100], protocol.FormatDeb, "not a Debian package"},
		"source rpm":              {rpmPackage(goodRPM[:5]...), protocol.FormatRPM, "source package"},
		"rpm named like a path":   {rpmPackage(append([]rpmTag{{tagName, "../x"}}, goodRPM[1:]...)...), protocol.FormatRPM, "not the name of a package"},
		"rpm with a bad version":  {rpmPackage(append([]rpmTag{{tagVersion, "$(id)"}, goodRPM[0]}, goodRPM[2:]...)...), protocol.FormatRPM, "not valid"},
		"rpm cut off":             {rpmPackage(goodRPM...)[:180], protocol.FormatRPM, "cut off"},
		"rpm with two names":      {rpmPackage(append(goodRPM[:1:1], goodRPM...)...), protocol.FormatRPM, "tag 1000 of its header is damaged"},
	} {
		got, err := readBytes(c.content, c.ending)
		if err != nil || !strings.Contains(got.problem, c.want) {
			t.Errorf("%s: problem %q, %v; want %q", name, got.problem, err, c.want)
		}
	}
}

// A failed disk is no property of the package.
type failing struct{ io.ReadSeeker }

func (failing) Read([]byte) (int, error) { return 0, errors.New("input/output error") }

func TestDiskErrorIsNoProblemOfThePackage(t *testing.T) {
	for _, ending := range []protocol.PackageFormat{protocol.FormatDeb, protocol.FormatTar, ""} {
		if got, err := read(t.Context(), failing{bytes.NewReader(nil)}, 10, ending); err == nil {
			t.Errorf("%s: %+v and no error", ending, got)
		}
	}
}

func TestNamesOfTarPackages(t *testing.T) {
	for _, c := range []struct{ upload, inside, name, version string }{
		{"qat-driver-1.7.tar.gz", "", "qat-driver", "1.7"},
		{"qat-1.7-2.tgz", "", "qat-1.7", "2"},
		{"qat-1.7-2.tar", "1.7-2", "qat", "1.7-2"},
		{"qat-1.7-rc.tar.zst", "", "qat", "1.7-rc"},
		{"qat-1.7.tar", "1.7.0", "qat", "1.7.0"},
		{"qat.TAR.XZ", "3", "qat", "3"},
		{"lib-x.tar", "3", "lib-x", "3"},
		{"qat.tar", "", "", ""},
		{"qat-driver.tar", "", "", ""},
		{"qat-1=2.tar", "", "", ""},
		{"qat-1.tar", "-1", "", ""},
		{"qat-1.tar", "$(reboot)", "", ""},
		{"q@t-1.tar", "", "", ""},
	} {
		stem, format := splitEnding(c.upload)
		name, version, err := tarName(stem, c.inside)
		if (err != nil) != (c.version == "") || err == nil && (name != c.name || version != c.version) || format != protocol.FormatTar {
			t.Errorf("%s with %q = %q %q, %v; want %q %q", c.upload, c.inside, name, version, err, c.name, c.version)
		}
	}
}

// check checks what holds for every upload: a package without a problem has a valid name and version.
func check(t *testing.T, content []byte, ending protocol.PackageFormat) {
	t.Helper()
	got, err := readBytes(content, ending)
	switch {
	case err != nil:
		t.Errorf("an error of the disk: %v", err)
	case got.problem != "" || got.format == protocol.FormatTar || got.format == "":
	case !packageName.MatchString(got.name) || !packageVersion.MatchString(got.version):
		t.Errorf("%+v", got)
	}
}

func FuzzTar(f *testing.F) {
	plain := archive(f, entry{"install.sh", "a"}, entry{"version", "1"}, entry{"a/b -> ../c", ""}, entry{"d => install.sh", ""})
	for _, seed := range [][]byte{plain, pack(f, plain, toGzip), pack(f, plain, toXZ), pack(f, plain, toZstd)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content []byte) { check(t, content, protocol.FormatTar) })
}

func FuzzRPM(f *testing.F) {
	f.Add(rpmPackage(goodRPM...))
	f.Add(rpmPackage(goodRPM...)[:150])
	f.Fuzz(func(t *testing.T, content []byte) { check(t, append([]byte(rpmMagic), content...), protocol.FormatRPM) })
}
