package uploads

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// importer imports no images, or fails.
type importer struct{ err error }

func (i *importer) Import(context.Context, string, int64, func() (io.ReadSeekCloser, error)) ([]string, error) {
	return nil, i.err
}

func (i *importer) Restore(context.Context, string, int64, func() (io.ReadSeekCloser, error)) ([]string, error) {
	return nil, i.err
}

// A repair that fails at any point leaves no open upload beside the artifact, since no client could
// resume it.
func TestARepairThatCannotBeFinishedLeavesNoUpload(t *testing.T) {
	s := newService(t, limits.Limits{})
	images := &importer{}
	s.importer = images
	rec := protocol.Record{Owner: "o", ClusterName: "c", Kind: protocol.ContainerImages, ImageName: "a.tar", ImageLength: int64(len(content))}
	ref := rec.Ref()
	p, err := s.Create(t.Context(), rec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), p, 0, strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	done, err := s.Finish(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	blob := filepath.Join(s.store.Dir(), "docker/registry/v2/blobs/sha256", done.SHA256[:2], done.SHA256, "data")
	for _, fails := range []error{errors.New("no room for the images"), nil} {
		if err := os.Truncate(blob, 3); err != nil {
			t.Fatal(err)
		}
		images.err = fails
		if _, err := s.Same(t.Context(), rec, strings.NewReader(content), ErrExists); !errors.Is(err, fails) {
			t.Errorf("repair = %v, want %v", err, fails)
		}
		if _, err := s.Open(t.Context(), ref); !errors.Is(err, ErrNotFound) {
			t.Errorf("after a repair that ended with %v: open upload = %v, want %v", fails, err, ErrNotFound)
		}
	}
	a, err := s.Stored(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.Content(t.Context(), ref, a)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); err != nil || string(got) != content {
		t.Errorf("content = %q, %v", got, err)
	}
}
