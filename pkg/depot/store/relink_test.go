package store_test

import (
	"bytes"
	"path"
	"testing"

	"github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// A kill after the blob is written and before its link is written leaves the upload. The upload is
// then committed again.
func TestCommitLinksABlobThatIsThere(t *testing.T) {
	s, err := store.Over(t.Context(), inmemory.New())
	if err != nil {
		t.Fatal(err)
	}
	content := []byte("content")
	d := digest.FromBytes(content)
	id, err := s.Begin(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), "r", id, 0, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Commit(t.Context(), "r", id, d, int64(len(content))); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Linked(t.Context(), "r", d); err != nil {
			t.Errorf("a committed blob is not its repository's: %v", err)
		}
		if err := s.Driver.Delete(t.Context(), path.Join(store.RepositoriesPath, "r/_layers")); err != nil {
			t.Fatal(err)
		}
	}
}
