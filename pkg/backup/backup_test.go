package backup

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// snapshotOf returns content in the format of a snapshot: its SHA-256 is appended.
func snapshotOf(content []byte) []byte {
	sum := sha256.Sum256(content)
	return append(bytes.Clone(content), sum[:]...)
}

func key(t *testing.T) (identity, recipient string) {
	t.Helper()
	identity, recipient, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return identity, recipient
}

var made = Manifest{Namespace: "site", Provisioning: "edge-1", Time: time.Date(2026, 11, 22, 2, 30, 0, 0, time.UTC), Member: "m-1", Revision: 42, PKIFolder: "/etc/kubernetes/ssl"}

func write(t *testing.T, snapshot []byte, recipient string, files ...File) []byte {
	t.Helper()
	w, err := NewWriter(made, files, Snapshot{int64(len(snapshot)), iotest.OneByteReader(bytes.NewReader(snapshot))}, recipient)
	if err != nil {
		t.Fatal(err)
	}
	size, err := w.Size()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	n, err := w.WriteTo(&out)
	if err != nil || n != size || int64(out.Len()) != size {
		t.Fatalf("WriteTo() = %d, %v; %d bytes written, want %d", n, err, out.Len(), size)
	}
	return out.Bytes()
}

// A backup has exactly the announced size, shows nothing of its content, and can be read with the key.
func TestWriteAndRead(t *testing.T) {
	identity, recipient := key(t)
	for _, size := range []int{1, block - checksumSize, chunk - 5*block - checksumSize, 3 * chunk, 3*chunk + 17} {
		content := make([]byte, size)
		if _, err := rand.Read(content); err != nil {
			t.Fatal(err)
		}
		snapshot := snapshotOf(content)
		files := []File{{FolderPKI + "/ca.key", []byte("PRIVATE KEY of the cluster")}, {FileHostsINI, nil}}
		sealed := write(t, snapshot, recipient, files...)
		for _, hidden := range []string{"PRIVATE KEY", "ca.key", "edge-1"} {
			if bytes.Contains(sealed, []byte(hidden)) {
				t.Errorf("%q can be read without the key", hidden)
			}
		}
		o, err := Read(bytes.NewReader(sealed), identity+"\n")
		if err != nil {
			t.Fatal(err)
		}
		want := made
		want.Version = Version
		want.Files = []FileSize{{FolderPKI + "/ca.key", 26}, {FileHostsINI, 0}, {FileSnapshot, int64(len(snapshot))}}
		if diff := cmp.Diff(want, o.Manifest); diff != "" {
			t.Errorf("manifest (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string][]byte{FolderPKI + "/ca.key": files[0].Content, FileHostsINI: {}}, o.Files); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
		var got bytes.Buffer
		if err := o.WriteSnapshot(&got); err != nil || !bytes.Equal(got.Bytes(), snapshot) {
			t.Errorf("the snapshot of %d bytes was read as %d bytes, %v", len(snapshot), got.Len(), err)
		}
	}
}

// A writer never completes a backup of a snapshot that is cut off, too long or damaged.
func TestWriteRefuses(t *testing.T) {
	_, recipient := key(t)
	whole := snapshotOf(bytes.Repeat([]byte("x"), 1000))
	damaged := bytes.Clone(whole)
	damaged[500] ^= 1
	for says, of := range map[string]struct {
		size int64
		in   io.Reader
	}{
		"ends after":   {int64(len(whole)), bytes.NewReader(whole[:700])},
		"has more":     {900, bytes.NewReader(whole)},
		"is damaged":   {int64(len(whole)), bytes.NewReader(damaged)},
		"broken pipe!": {int64(len(whole)), io.MultiReader(bytes.NewReader(whole[:600]), iotest.ErrReader(errorText("broken pipe!")))},
	} {
		w, err := NewWriter(made, nil, Snapshot{of.size, of.in}, recipient)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteTo(io.Discard); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("WriteTo: %v, want an error with %q", err, says)
		}
	}
	if _, err := NewWriter(made, nil, Snapshot{checksumSize, nil}, recipient); err == nil {
		t.Error("an empty snapshot was accepted")
	}
	if _, err := NewWriter(made, nil, Snapshot{100, nil}, "age1nonsense"); err == nil {
		t.Error("a recipient that is none was accepted")
	}
}

type errorText string

func (e errorText) Error() string { return string(e) }

func TestReadRefuses(t *testing.T) {
	identity, recipient := key(t)
	other, _ := key(t)
	sealed := write(t, snapshotOf(bytes.Repeat([]byte("x"), 200_000)), recipient)
	changed := bytes.Clone(sealed)
	changed[len(changed)/2] ^= 1
	for name, tc := range map[string]struct {
		sealed         []byte
		identity, says string
	}{
		"another key": {sealed, other, "another key"},
		"no key":      {sealed, "AGE-SECRET-KEY-nonsense", "not a private key"},
		"changed":     {changed, identity, "decrypt"},
		"cut off":     {sealed[:len(sealed)-chunk], identity, ""},
		"no backup":   {[]byte("hello"), identity, "decrypt"},
	} {
		o, err := Read(bytes.NewReader(tc.sealed), tc.identity)
		if err == nil {
			err = o.WriteSnapshot(io.Discard)
		}
		if err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "nonsense") {
			t.Errorf("%s: %v, want an error with %q and without the key", name, err, tc.says)
		}
	}
}

func TestRecipientOf(t *testing.T) {
	identity, recipient := key(t)
	for name, data := range map[string]map[string][]byte{
		"both":            {KeyIdentity: []byte(identity), KeyRecipient: []byte(recipient + "\n")},
		"the public key":  {KeyRecipient: []byte(recipient)},
		"the private key": {KeyIdentity: []byte(identity)},
	} {
		if got, err := RecipientOf(data); err != nil || got != recipient {
			t.Errorf("%s: %q, %v, want %s", name, got, err, recipient)
		}
	}
	for name, data := range map[string]map[string][]byte{
		"nothing":       nil,
		"a wrong key":   {KeyIdentity: []byte("AGE-SECRET-KEY-1SECRET")},
		"a wrong value": {KeyRecipient: []byte("x"), KeyIdentity: []byte(identity)},
	} {
		if _, err := RecipientOf(data); err == nil || strings.Contains(err.Error(), "1SECRET") {
			t.Errorf("%s: %v, want an error without the key", name, err)
		}
	}
}

func TestArtifact(t *testing.T) {
	ref := Place("site", strings.Repeat("p", 40), Artifact(strings.Repeat("b", 55), "01234567-89ab-cdef"))
	if err := ref.Validate(); err != nil {
		t.Error(err)
	}
}
