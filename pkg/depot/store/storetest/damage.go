package storetest

import (
	"bytes"
	"testing"

	"github.com/distribution/distribution/v3"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// replaced damages content without changing its size, as a disk does. It then stores the same
// content again, in each possible way.
func replaced(t *testing.T, s *store.Store) {
	content := noise(6 << 20)
	d := digest.FromBytes(content)
	size := int64(len(content))
	desc := v1.Descriptor{Digest: d, Size: size}
	repo := must[distribution.Repository](t)(s.Repository(t.Context(), repository))
	for name, bring := range map[string]func() error{
		"an upload": func() error {
			id := must[string](t)(s.Begin(t.Context(), repository))
			must[int64](t)(s.Append(t.Context(), repository, id, 0, bytes.NewReader(content)))
			return s.Commit(t.Context(), repository, id, d, size)
		},
		"known content": func() error {
			_, err := s.AddKnown(t.Context(), repository, bytes.NewReader(content), d, size)
			return err
		},
		"a client of the registry": func() error {
			w := must[distribution.BlobWriter](t)(repo.Blobs(t.Context()).Create(t.Context()))
			must[int64](t)(w.ReadFrom(bytes.NewReader(content)))
			_, err := w.Commit(t.Context(), desc)
			return err
		},
		"content in memory": func() error {
			_, err := repo.Blobs(t.Context()).Put(t.Context(), "", content)
			return err
		},
	} {
		must[v1.Descriptor](t)(s.AddKnown(t.Context(), repository, bytes.NewReader(content), d, size))
		damage(t, s, d)
		if whole := must[bool](t)(s.Intact(t.Context(), d, size)); whole {
			t.Fatalf("%s: damaged content is reported as intact", name)
		}
		if err := bring(); err != nil {
			t.Errorf("%s over damaged content: %v", name, err)
		}
		read(t, s, d, content)
		if whole := must[bool](t)(s.Intact(t.Context(), d, size)); !whole {
			t.Errorf("%s left damaged content", name)
		}
	}
}

// damage changes one bit of a blob.
func damage(t *testing.T, s *store.Store, d digest.Digest) {
	t.Helper()
	body := must[[]byte](t)(s.Driver.GetContent(t.Context(), store.BlobPath(d)))
	body[len(body)/2] ^= 1
	if err := s.Driver.PutContent(t.Context(), store.BlobPath(d), body); err != nil {
		t.Fatal(err)
	}
}

// notCommitted checks an upload whose bytes became a blob before a crash. If this blob is damaged,
// Commit must not report that the upload is complete.
func notCommitted(t *testing.T, s *store.Store) {
	content := noise(1000)
	id := must[string](t)(s.Begin(t.Context(), repository))
	must[int64](t)(s.Append(t.Context(), repository, id, 0, bytes.NewReader(content)))
	d := commit(t, s, id, content)
	damage(t, s, d)
	if err := s.Commit(t.Context(), repository, id, d, 1000); err == nil {
		t.Error("an upload without bytes was committed over a damaged blob")
	}
}
