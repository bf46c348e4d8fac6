package uploads

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	driver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

const content = "all of the content"

var image = protocol.Ref{Owner: "o", Cluster: "c", Kind: protocol.OSImages, Name: "a.img"}

func newService(t *testing.T, l limits.Limits) *Service {
	t.Helper()
	s, err := store.OnDisk(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gate := limits.NewQuota(l, &limits.Usage{Dir: s.Dir()})
	return New(s, gate, nil, slog.New(slog.DiscardHandler))
}

// begun returns an upload with some of its bytes.
func begun(t *testing.T, s *Service, bytes string) Pending {
	t.Helper()
	p, err := s.Create(t.Context(), protocol.Record{Owner: image.Owner, ClusterName: image.Cluster, Kind: image.Kind, ImageName: image.Name, ImageLength: int64(len(content))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), p, 0, strings.NewReader(bytes)); err != nil {
		t.Fatal(err)
	}
	if p, err = s.Open(t.Context(), image); err != nil {
		t.Fatal(err)
	}
	return p
}

func wantWhole(t *testing.T, s *Service) {
	t.Helper()
	a, err := s.Stored(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.Content(t.Context(), image, a)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); err != nil || string(got) != content || a.Digest != digest.FromString(content) {
		t.Errorf("content = %q, %v with %s", got, err, a.Digest)
	}
	if _, err := s.Open(t.Context(), image); !errors.Is(err, ErrNotFound) {
		t.Errorf("the upload is still open: %v", err)
	}
}

// beforeNote does something before the first read of the note of an upload.
type beforeNote struct {
	driver.StorageDriver
	do func()
}

func (b *beforeNote) GetContent(ctx context.Context, at string) ([]byte, error) {
	if do := b.do; do != nil && strings.HasPrefix(at, pendingDir) {
		b.do = nil
		do()
	}
	return b.StorageDriver.GetContent(ctx, at)
}

// An upload that ends while its record is read is there all the time.
func TestRecordOfAnUploadThatEnds(t *testing.T) {
	s := newService(t, limits.Limits{})
	p := begun(t, s, content)
	s.store.Driver = &beforeNote{s.store.Driver, func() {
		if _, err := s.Finish(t.Context(), p); err != nil {
			t.Error(err)
		}
	}}
	if rec, err := s.Record(t.Context(), image); err != nil || !rec.Complete() {
		t.Errorf("Record() = %+v, %v", rec, err)
	}
}

// A crash may happen between any two steps that finish an upload.
func TestRecoverFinishesFromEveryStep(t *testing.T) {
	steps := []struct {
		name string
		do   func(context.Context, *Service, Pending) (Pending, error)
	}{
		{"all bytes", func(_ context.Context, _ *Service, p Pending) (Pending, error) { return p, nil }},
		{"checked", func(ctx context.Context, s *Service, p Pending) (Pending, error) { return s.check(ctx, p) }},
		{"a blob", func(ctx context.Context, s *Service, p Pending) (Pending, error) {
			return p, s.store.Commit(ctx, protocol.Staging, p.Writer, p.Digest, p.Record.ImageLength)
		}},
		{"visible", func(ctx context.Context, s *Service, p Pending) (Pending, error) {
			_, err := s.publish(ctx, p)
			return p, err
		}},
	}
	for last, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			s := newService(t, limits.Limits{})
			p := begun(t, s, content)
			for _, step := range steps[:last+1] {
				var err error
				if p, err = step.do(t.Context(), s, p); err != nil {
					t.Fatal(err)
				}
			}
			again := New(s.store, s.quota, nil, s.log)
			for range 2 {
				recovered(t, again)
				wantWhole(t, again)
			}
		})
	}
}

func TestRecoverKeepsWhatIsOpenAndDropsWhatIsLost(t *testing.T) {
	s := newService(t, limits.Limits{MaxOpen: 1})
	p := begun(t, s, content[:5])
	again := New(s.store, limits.NewQuota(limits.Limits{MaxOpen: 1}, &limits.Usage{Dir: s.store.Dir()}), nil, s.log)
	recovered(t, again)
	if err := again.quota.Reserve("another", 1); err == nil {
		t.Error("an upload that is open was not counted after a restart")
	}
	if open, err := again.Open(t.Context(), image); err != nil || *open.Record.ImageOffset != 5 {
		t.Errorf("open upload = %+v, %v", open.Record, err)
	}
	if err := s.store.Abort(t.Context(), protocol.Staging, p.Writer); err != nil { // as the registry's purge does
		t.Fatal(err)
	}
	recovered(t, again)
	if _, err := again.Open(t.Context(), image); !errors.Is(err, ErrNotFound) {
		t.Errorf("an upload without bytes is open: %v", err)
	}
	if err := again.quota.Reserve("another", 1); err != nil {
		t.Errorf("a dropped upload still counts: %v", err)
	}
}

func TestAbandonedUploadsExpire(t *testing.T) {
	s := newService(t, limits.Limits{Expiry: time.Hour})
	now := time.Now()
	s.now = func() time.Time { return now }
	begun(t, s, content[:5])
	now = now.Add(50 * time.Minute)
	if _, err := s.Append(t.Context(), must(t, s), 5, strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after time.Duration
		open  bool
	}{{50 * time.Minute, true}, {70 * time.Minute, false}} {
		at := now
		s.now = func() time.Time { return at.Add(c.after) }
		if err := s.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Open(t.Context(), image); (err == nil) != c.open {
			t.Errorf("%v after the last bytes: open = %v", c.after, err)
		}
	}
}

func must(t *testing.T, s *Service) Pending {
	t.Helper()
	p, err := s.Open(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestExpiryLeavesAnUploadThatIsWorkedOn(t *testing.T) {
	s := newService(t, limits.Limits{Expiry: time.Hour})
	begun(t, s, content[:5])
	unlock, err := s.Lock(t.Context(), image, Claim{Interrupt: func() { t.Error("whoever works on it was asked to stop") }})
	if err != nil {
		t.Fatal(err)
	}
	s.now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	if err := s.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	must(t, s)
	unlock()
	if err := s.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(t.Context(), image); !errors.Is(err, ErrNotFound) {
		t.Errorf("after that it does not expire: %v", err)
	}
}

// recovered does the same as a start of the depot.
func recovered(t *testing.T, s *Service) {
	t.Helper()
	if err := s.Inherit(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Recover(t.Context())
}
