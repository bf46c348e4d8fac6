package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/store"
	"github.com/akraino-icn/bpa/pkg/depot/store/storetest"
)

func onDisk(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.OnDisk(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStoreOnDisk(t *testing.T) { storetest.Run(t, onDisk) }

// After a kill, bytes on the disk may have no saved hash. After a full disk, a saved hash may be of
// bytes that are not stored. The digest must be correct in both cases.
func TestDigestAfterACrash(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"more bytes than hashed": func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteString(" and more")
			return err
		},
		"fewer bytes than hashed": func(path string) error { return os.Truncate(path, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			s := onDisk(t)
			id, err := s.Begin(t.Context(), "r")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Append(t.Context(), "r", id, 0, strings.NewReader("some bytes")); err != nil {
				t.Fatal(err)
			}
			data := filepath.Join(s.Dir(), "docker/registry/v2/repositories/r/_uploads", id, "data")
			if err := change(data); err != nil {
				t.Fatal(err)
			}
			offset, err := s.Offset(t.Context(), "r", id)
			if err != nil {
				t.Fatal(err)
			}
			// With these bytes, the upload ends beyond the offset of the saved state.
			end, err := s.Append(t.Context(), "r", id, offset, strings.NewReader(" other bytes after that"))
			if err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(data)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Digest(t.Context(), "r", id, end)
			if want := digest.FromBytes(content); err != nil || got != want {
				t.Errorf("digest of %q = %s, %v; want %s", content, got, err, want)
			}
		})
	}
}
