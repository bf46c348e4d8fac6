package apt

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/akraino-icn/bpa/pkg/depot/apt/apttest"
)

const plainControl = "Package: app\nVersion: 1:2.0-1\nArchitecture: amd64\nDescription: short\n long\n .\n longer\n"

func readControl(deb []byte) (Control, error) {
	return ReadControl(bytes.NewReader(deb), int64(len(deb)))
}

// tarOf returns a tar archive of files, which are given as name, content and so on.
func tarOf(t testing.TB, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: files[i], Mode: 0o644, Size: int64(len(files[i+1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, files[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// packed returns content, compressed by compressor.
func packed(t testing.TB, content string, compressor func(io.Writer) (io.WriteCloser, error)) string {
	t.Helper()
	var b bytes.Buffer
	w, err := compressor(&b)
	if err == nil {
		_, err = io.WriteString(w, content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func toXZ(w io.Writer) (io.WriteCloser, error)   { return xz.NewWriter(w) }
func toGzip(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }
func toZstd(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }

// withControl returns a package with the given control archive.
func withControl(t testing.TB, name, archive string) []byte {
	t.Helper()
	return apttest.Archive(t, "debian-binary", "2.0\n", name, archive, "data.tar.xz", "data")
}

func TestControlIsReadHoweverItIsPacked(t *testing.T) {
	archive := tarOf(t, "./md5sums", strings.Repeat("0123456789abcdef", 1<<16), "./control", plainControl)
	want := Control{"app", "1:2.0-1", "amd64", []byte(plainControl)}
	for name, deb := range map[string][]byte{
		"not":           withControl(t, "control.tar", archive),
		"gzip":          withControl(t, "control.tar.gz", packed(t, archive, toGzip)),
		"xz":            withControl(t, "control.tar.xz", packed(t, archive, toXZ)),
		"zstd":          withControl(t, "control.tar.zst", packed(t, archive, toZstd)),
		"slash":         withControl(t, "control.tar/", archive),
		"signed":        apttest.Archive(t, "debian-binary", "2.0\n", "_gpgorigin", "x", "control.tar", archive, "_x", "", "data.tar", "", "after", ""),
		"name of a tar": withControl(t, "control.tar", tarOf(t, "control", plainControl)),
	} {
		got, err := readControl(deb)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestInvalidPackagesAreRefused(t *testing.T) {
	good := withControl(t, "control.tar", tarOf(t, "control", plainControl))
	// A member of size -60 would end at its own header, so reading would never end.
	back := bytes.Replace(good, []byte("4         `\n2.0\n"), []byte("-60       `\n2.0\n"), 1)
	huge := bytes.Replace(good, []byte("4         `\ndata"), []byte("9999999999`\ndata"), 1)
	window := func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w, zstd.WithWindowSize(512<<20)) }
	for name, tt := range map[string]struct {
		deb  []byte
		want string
	}{
		"empty":               {nil, "does not begin as an ar archive"},
		"a text":              {[]byte("this is not a package"), "does not begin as an ar archive"},
		"nothing but a head":  {[]byte(arMagic), "cut off"},
		"another archive":     {apttest.Archive(t, "file", "2.0\n"), "first member is not debian-binary"},
		"another format":      {apttest.Archive(t, "debian-binary", "3.0\n"), "format 2"},
		"no control":          {apttest.Archive(t, "debian-binary", "2.0\n", "data.tar", ""), `"data.tar" is not where`},
		"two controls":        {apttest.Archive(t, "debian-binary", "2.0\n", "control.tar", "", "control.tar", ""), `"control.tar" is not where`},
		"no data":             {apttest.Archive(t, "debian-binary", "2.0\n", "control.tar", ""), "cut off"},
		"cut off in its data": {good[:len(good)-1], `its member "data.tar.xz" should have 4 bytes and has 3`},
		"backwards":           {back, "header of the member at byte 8 is damaged"},
		"endless members":     {apttest.Archive(t, append([]string{"debian-binary", "2.0\n"}, many(2*maxMembers, "_x", "")...)...), "more than 16 members"},
		"size of ten digits":  {huge, `its member "data.tar.xz" should have 9999999999 bytes and has 4`},
		"half an ar header":   {bytes.Replace(good, []byte("`\n2.0"), []byte("`X2.0"), 1), "header of the member at byte 8 is damaged"},
		"data before control": {apttest.Archive(t, "debian-binary", "2.0\n", "data.tar", "", "control.tar", ""), `"data.tar" is not where`},
		"lzma of 2 GiB":       {withControl(t, "control.tar.lzma", "\x5d\xff\xff\xff\x7f"), "compression that is not supported"},
		"zstd of 512 MiB":     {withControl(t, "control.tar.zst", packed(t, strings.Repeat("0", maxUnpacked), window)), "window size exceeded"},
		"unknown packing":     {withControl(t, "control.tar.bz2", ""), "compression that is not supported"},
		"not what it says":    {withControl(t, "control.tar.gz", "text"), "control.tar.gz cannot be unpacked"},
		"not xz":              {withControl(t, "control.tar.xz", "some text that is long"), "does not begin as an xz file"},
		"damaged xz":          {withControl(t, "control.tar.xz", changed(packed(t, "x", toXZ), 15)), "xz block is damaged"},
		"no file":             {withControl(t, "control.tar", tarOf(t, "md5sums", "")), "no control file in its control.tar"},
		"half a tar":          {withControl(t, "control.tar", tarOf(t, "control", plainControl)[:540]), "cannot be read"},
		"bomb before":         {withControl(t, "control.tar.gz", packed(t, tarOf(t, "md5sums", strings.Repeat("0", maxUnpacked), "control", plainControl), toGzip)), "first 16777216 bytes"},
		"bomb itself":         {withControl(t, "control.tar.gz", packed(t, tarOf(t, "control", plainControl+strings.Repeat(" x\n", maxControl)), toGzip)), "more than 262144 bytes"},
	} {
		got, err := readControl(tt.deb)
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %+v, %v, want an error with %q", name, got, err, tt.want)
		}
	}
}

func many(n int, what ...string) (all []string) {
	for range n {
		all = append(all, what...)
	}
	return all
}

func changed(s string, at int) string {
	b := []byte(s)
	b[at] ^= 1
	return string(b)
}

func TestControlThatIsRefused(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"empty":               {"", "empty"},
		"no version":          {"Package: app\nArchitecture: all\n", "no valid version"},
		"a path for a name":   {"Package: ../app\nVersion: 1\nArchitecture: all\n", "no valid package"},
		"second paragraph":    {plainControl + "\nPackage: evil\nVersion: 1\nArchitecture: all\n", "more than one paragraph"},
		"blank, not empty":    {plainControl + " \t\nPackage: evil\n", "more than one paragraph"},
		"carriage return":     {"Package: app\r\nVersion: 1\r\nArchitecture: all\r\n", "a character that is not allowed there"},
		"NUL":                 {plainControl + "X: \x00\n", "a character that is not allowed there"},
		"twice":               {plainControl + "version: 3\n", "second field"},
		"not a field":         {plainControl + "text\n", "not a field"},
		"comment":             {plainControl + "# x: y\n", "not a field"},
		"continues nothing":   {" text\n" + plainControl, "continues nothing"},
		"a name on two lines": {"Package: app\n evil\nVersion: 1\nArchitecture: all\n", "continues nothing"},
	} {
		got, err := parseControl(tt.text)
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %+v, %v, want an error with %q", name, got, err, tt.want)
		}
	}
}

func TestPackageCannotSetItsPathOrChecksum(t *testing.T) {
	lies := "Filename: ../evil\nSHA256: 00\n 11\nsize: 1\nMD5sum: 22\n"
	got, err := parseControl("\n" + lies + plainControl + "\n")
	if err != nil || string(got.Text) != plainControl {
		t.Errorf("control = %q, %v, want %q", got.Text, err, plainControl)
	}
}

// broken is a disk that fails.
type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { return 0, io.ErrClosedPipe }

func TestReadErrorIsNotAFormatError(t *testing.T) {
	if _, err := ReadControl(broken{}, 1000); !errors.Is(err, io.ErrClosedPipe) || errors.Is(err, ErrFormat) {
		t.Errorf("ReadControl = %v, want the disk's error", err)
	}
}

// TestMemoryForAPackageIsBounded reads a package whose xz block asks for 4 GiB of memory.
func TestMemoryForAPackageIsBounded(t *testing.T) {
	greedy := []byte(packed(t, tarOf(t, "control", plainControl), toXZ))
	const streamHeader = 12
	block := greedy[streamHeader : streamHeader+(int(greedy[streamHeader])+1)*4]
	block[4] = 40 // the dictionary size as xz encodes it: 4 GiB
	binary.LittleEndian.PutUint32(block[len(block)-4:], crc32.ChecksumIEEE(block[:len(block)-4]))
	deb := withControl(t, "control.tar.xz", string(greedy))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := readControl(deb); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 2*maxUnpacked {
		t.Errorf("one package took %d bytes, want %d at most", got, 2*maxUnpacked)
	}
}

func FuzzReadControl(f *testing.F) {
	archive := tarOf(f, "control", plainControl)
	f.Add(withControl(f, "control.tar", archive))
	f.Add(withControl(f, "control.tar.gz", packed(f, archive, toGzip)))
	f.Add(withControl(f, "control.tar.xz", packed(f, archive, toXZ)))
	f.Add(withControl(f, "control.tar.zst", packed(f, archive, toZstd)))
	f.Add([]byte(arMagic))
	f.Fuzz(func(t *testing.T, deb []byte) {
		control, err := readControl(deb)
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Errorf("error = %v, want ErrFormat: only the content can be wrong", err)
			}
			return
		}
		checkStanza(t, control)
	})
}

func FuzzParseControl(f *testing.F) {
	f.Add(plainControl)
	f.Add("Filename: ../evil\n" + plainControl)
	f.Add(plainControl + "\n\nPackage: evil\n")
	f.Fuzz(func(t *testing.T, text string) {
		if control, err := parseControl(text); err == nil {
			checkStanza(t, control)
		}
	})
}

// checkStanza checks that a package makes exactly one index entry, and that the depot sets its path
// and checksum.
func checkStanza(t *testing.T, control Control) {
	t.Helper()
	stanza := control.stanza("pool/app.deb", 7, "sum")
	body, ok := strings.CutSuffix(stanza, "\n\n")
	if !ok || strings.Contains(body, "\n\n") {
		t.Fatalf("stanza %q is not one paragraph", stanza)
	}
	fields := map[string]int{}
	for line := range strings.SplitSeq(body, "\n") {
		name, _, _ := strings.Cut(line, ":")
		fields[strings.ToLower(name)]++
	}
	for _, name := range append([]string{"package", "version", "architecture"}, "filename", "size", "sha256") {
		if fields[name] != 1 {
			t.Errorf("stanza %q has %s %d times", stanza, name, fields[name])
		}
	}
}
