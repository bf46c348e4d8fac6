package garbage_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/distribution/distribution/v3/registry/storage/driver/inmemory"

	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/garbage"
	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/store"
	"github.com/akraino-icn/bpa/pkg/depot/uploads"
)

// importer reads a whole archive. If killed is set, it fails before it reads anything, as if the
// depot were killed.
type importer struct {
	killed bool
	read   []byte
}

func (i *importer) Import(_ context.Context, _ string, _ int64, open func() (io.ReadSeekCloser, error)) ([]string, error) {
	if i.killed {
		return nil, errors.New("killed")
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	i.read, err = io.ReadAll(f)
	return []string{"app:v1"}, err
}

func (i *importer) Restore(ctx context.Context, name string, size int64, open func() (io.ReadSeekCloser, error)) ([]string, error) {
	return i.Import(ctx, name, size, open)
}

// In a store that is not a directory, the depot reads a received archive through its link in the
// staging repository. A collection must therefore keep this link until the archive is published.
func TestAnUploadThatWaitsToBePublishedIsStillRead(t *testing.T) {
	s, err := store.Over(t.Context(), inmemory.New())
	if err != nil {
		t.Fatal(err)
	}
	archive := []byte("images, all of them received")
	receive(t, s, archive)
	if _, err := garbage.Collect(t.Context(), s, garbage.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Linked(t.Context(), protocol.Staging, digest.FromBytes(archive)); err != nil {
		t.Errorf("the link of an upload that is not published yet: %v", err)
	}
	after := &importer{}
	finish(t, service(s, after))
	if !bytes.Equal(after.read, archive) {
		t.Errorf("after a collection the archive reads %q, want %q", after.read, archive)
	}
	if _, err := garbage.Collect(t.Context(), s, garbage.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Linked(t.Context(), protocol.Staging, digest.FromBytes(archive)); !store.IsAbsent(err) {
		t.Errorf("the link of a published upload stays: %v", err)
	}
}

func receive(t *testing.T, s *store.Store, archive []byte) {
	t.Helper()
	u := service(s, &importer{killed: true})
	p, err := u.Create(t.Context(), protocol.Record{
		Owner: "o", ClusterName: "c", Kind: protocol.ContainerImages, ImageName: "a.tar", ImageLength: int64(len(archive)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Append(t.Context(), p, 0, bytes.NewReader(archive)); err != nil {
		t.Fatal(err)
	}
	if _, err := u.Finish(t.Context(), p); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the import ended with %v", err)
	}
}

// finish continues the upload, as a depot does when it starts.
func finish(t *testing.T, u *uploads.Service) {
	t.Helper()
	p, err := u.Open(t.Context(), protocol.Ref{Owner: "o", Cluster: "c", Kind: protocol.ContainerImages, Name: "a.tar"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Finish(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func service(s *store.Store, i uploads.Importer) *uploads.Service {
	return uploads.New(s, limits.NewQuota(limits.Limits{}, endless{}), i, slog.New(slog.DiscardHandler))
}

// endless is a disk that is never full.
type endless struct{}

func (endless) Held([]string) (int64, []int64) { return 0, nil }
func (endless) Free() (int64, bool, error)     { return 0, false, nil }
