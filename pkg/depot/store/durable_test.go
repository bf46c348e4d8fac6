package store

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/distribution/distribution/v3"
	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// states counts the hash states that are stored.
type states struct {
	storagedriver.StorageDriver
	stored int
}

func (s *states) PutContent(ctx context.Context, at string, content []byte) error {
	if strings.Contains(at, stateFolder) {
		s.stored++
	}
	return s.StorageDriver.PutContent(ctx, at, content)
}

// pushed begins a push of the text as the registry does, and ends it with the given function.
func pushed(t *testing.T, text string, end func(w distribution.BlobWriter) error) (s *Store, folder string, stored int) {
	t.Helper()
	counted := &states{}
	s, err := OnDisk(t.Context(), t.TempDir(), func(d storagedriver.StorageDriver) storagedriver.StorageDriver {
		counted.StorageDriver = d
		return counted
	})
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.begin(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	if started := filepath.Join(s.durable.full(UploadFolder("r", id)), startedFile); s.durable.isSynced(started) {
		t.Error("an upload without bytes is synced")
	}
	w, err := s.writer(t.Context(), "r", id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := end(w); err != nil {
		t.Fatal(err)
	}
	return s, s.durable.full(UploadFolder("r", id)), counted.stored
}

// The bytes of a push become a blob in the request that sends them. The folder of the push is then
// not synced, and no hash state is stored.
func TestPushInOneRequestSyncsNoFolder(t *testing.T) {
	const text = "some bytes"
	s, folder, stored := pushed(t, text, func(w distribution.BlobWriter) error {
		_, err := w.Commit(t.Context(), v1.Descriptor{Digest: digest.FromString(text)})
		return err
	})
	if stored != 0 {
		t.Errorf("%d hash states were stored, want none", stored)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder of the push is still there: %v", err)
	}
	if len(s.durable.fresh) != 0 {
		t.Errorf("the folder is remembered after its removal: %v", s.durable.fresh)
	}
	if blob := filepath.Dir(s.durable.full(BlobPath(digest.FromString(text)))); !s.durable.isSynced(blob) {
		t.Error("the directory of the blob is not synced")
	}
}

// A client continues a push after the bytes that the registry acknowledged.
func TestAcknowledgedPieceIsSynced(t *testing.T) {
	s, folder, stored := pushed(t, "some bytes", distribution.BlobWriter.Close)
	if stored != 1 {
		t.Errorf("%d hash states were stored, want 1", stored)
	}
	for _, path := range []string{filepath.Join(folder, startedFile), folder, filepath.Dir(folder)} {
		if !s.durable.isSynced(path) {
			t.Errorf("%s is not synced", path)
		}
	}
	if len(s.durable.fresh) != 0 {
		t.Errorf("a synced upload is remembered as not synced: %v", s.durable.fresh)
	}
}

// The depot acknowledges that an upload at /v1 exists before it has bytes.
func TestBeginSyncs(t *testing.T) {
	s, err := OnDisk(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.Begin(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	if started := filepath.Join(s.durable.full(UploadFolder("r", id)), startedFile); !s.durable.isSynced(started) {
		t.Error("the upload is not synced")
	}
}

// A crash after the last piece can leave bytes without a hash state. The request that ends the push
// can be repeated.
func TestPushEndsWithoutAHashState(t *testing.T) {
	const text = "some bytes"
	s, err := OnDisk(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.Begin(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.durable.full(uploadPath("r", id, dataFile)), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		d    digest.Digest
		fits bool
	}{{digest.FromString("other"), false}, {digest.FromString(text), true}} {
		w, err := s.writer(t.Context(), "r", id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(t.Context(), v1.Descriptor{Digest: c.d}); (err == nil) != c.fits {
			t.Errorf("commit as %s: %v", c.d, err)
		}
	}
}
