package storetest

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

const repository = "bpa-depot/uploads"

// Run tests a store. open creates an empty one.
func Run(t *testing.T, open func(t *testing.T) *store.Store) {
	for name, try := range map[string]func(*testing.T, *store.Store){
		"upload in pieces of any size":    pieces,
		"an upload that was cut":          cut,
		"an empty upload":                 empty,
		"an aborted upload":               aborted,
		"known content is checked":        known,
		"documents replace one another":   documents,
		"a blob is linked, read, sought":  linked,
		"referrers are recorded":          referrers,
		"referrers from before the links": earlier,
		"a manifest by other digests":     otherNames,
		"damaged content is replaced":     replaced,
		"no commit of damaged content":    notCommitted,
	} {
		t.Run(name, func(t *testing.T) { try(t, open(t)) })
	}
}

// noise returns content that differs in each call.
func noise(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func commit(t *testing.T, s *store.Store, id string, content []byte) digest.Digest {
	t.Helper()
	size := int64(len(content))
	d := must[digest.Digest](t)(s.Digest(t.Context(), repository, id, size))
	if want := digest.FromBytes(content); d != want {
		t.Fatalf("digest = %s, want %s", d, want)
	}
	for range 2 { // a second time, as after a crash
		if err := s.Commit(t.Context(), repository, id, d, size); err != nil {
			t.Fatal(err)
		}
	}
	if got := must[int64](t)(s.Blob(t.Context(), d)); got != size {
		t.Errorf("blob has %d bytes, want %d", got, size)
	}
	return d
}

func pieces(t *testing.T, s *store.Store) {
	// The content is larger than two parts of an S3 upload. Some pieces are smaller than the
	// smallest part that S3 allows, and some are larger.
	content := noise(18 << 20)
	id := must[string](t)(s.Begin(t.Context(), repository))
	var at int64
	for _, size := range []int{1, 100, 7 << 20, 3, 9 << 20, len(content)} {
		if got := must[int64](t)(s.Offset(t.Context(), repository, id)); got != at {
			t.Fatalf("offset = %d, want %d", got, at)
		}
		end := min(int(at)+size, len(content))
		at = must[int64](t)(s.Append(t.Context(), repository, id, at, bytes.NewReader(content[at:end])))
		if at != int64(end) {
			t.Fatalf("appended up to %d, want %d", at, end)
		}
	}
	if _, err := s.Append(t.Context(), repository, id, 5, bytes.NewReader(content)); err == nil {
		t.Error("bytes were accepted at an offset other than the upload's")
	}
	read(t, s, commit(t, s, id, content), content)
}

func read(t *testing.T, s *store.Store, d digest.Digest, want []byte) {
	t.Helper()
	if err := s.Link(t.Context(), repository, v1.Descriptor{Digest: d, Size: int64(len(want))}); err != nil {
		t.Fatal(err)
	}
	f := must[io.ReadSeekCloser](t)(s.Open(t.Context(), repository, d))
	defer f.Close()
	if got := must[[]byte](t)(io.ReadAll(f)); !bytes.Equal(got, want) {
		t.Errorf("read %d bytes that are not the %d stored", len(got), len(want))
	}
}

func cut(t *testing.T, s *store.Store) {
	content := noise(6 << 20)
	id := must[string](t)(s.Begin(t.Context(), repository))
	broken := errors.New("cut")
	at, err := s.Append(t.Context(), repository, id, 0, io.MultiReader(bytes.NewReader(content[:1000]), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || at != 1000 {
		t.Fatalf("a cut upload is at %d with %v, want 1000 and the reader's error", at, err)
	}
	must[int64](t)(s.Append(t.Context(), repository, id, at, bytes.NewReader(content[at:])))
	commit(t, s, id, content)
}

func empty(t *testing.T, s *store.Store) {
	id := must[string](t)(s.Begin(t.Context(), repository))
	must[int64](t)(s.Append(t.Context(), repository, id, 0, bytes.NewReader(nil)))
	commit(t, s, id, nil)
}

func aborted(t *testing.T, s *store.Store) {
	id := must[string](t)(s.Begin(t.Context(), repository))
	must[int64](t)(s.Append(t.Context(), repository, id, 0, bytes.NewReader(noise(6<<20))))
	for range 2 {
		if err := s.Abort(t.Context(), repository, id); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Offset(t.Context(), repository, id); !store.IsAbsent(err) {
		t.Errorf("an aborted upload is still there: %v", err)
	}
}

func known(t *testing.T, s *store.Store) {
	content := noise(1000)
	d := digest.FromBytes(content)
	var other *store.OtherContentError
	if _, err := s.AddKnown(t.Context(), repository, bytes.NewReader(noise(1000)), d, 1000); !errors.As(err, &other) {
		t.Errorf("other content: %v", err)
	}
	if _, err := s.Blob(t.Context(), d); !store.IsAbsent(err) {
		t.Errorf("refused content is there: %v", err)
	}
	must[v1.Descriptor](t)(s.AddKnown(t.Context(), repository, bytes.NewReader(content), d, 1000))
	read(t, s, d, content)
}

func documents(t *testing.T, s *store.Store) {
	const name, tag = "bpa-depot/documents/a", "current"
	if _, err := s.Load(t.Context(), name, tag); !store.IsAbsent(err) {
		t.Fatalf("a document that was never saved: %v", err)
	}
	for _, config := range []string{`{"n": 1}`, `{"n": 2}`, `{"n": 2}`} {
		if err := s.Save(t.Context(), name, tag, store.Document{Type: "application/vnd.test", Config: []byte(config)}); err != nil {
			t.Fatal(err)
		}
		if got := must[store.Document](t)(s.Load(t.Context(), name, tag)); string(got.Config) != config {
			t.Errorf("loaded %s, want %s", got.Config, config)
		}
	}
	if err := s.Remove(t.Context(), name, tag); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context(), name, tag); !store.IsAbsent(err) {
		t.Errorf("a removed document: %v", err)
	}
	if err := s.Remove(t.Context(), name, tag); !store.IsAbsent(err) {
		t.Errorf("removing it again: %v", err)
	}
}

func linked(t *testing.T, s *store.Store) {
	content := noise(5000)
	d := digest.FromBytes(content)
	desc := must[v1.Descriptor](t)(s.AddKnown(t.Context(), repository, bytes.NewReader(content), d, 5000))
	if err := s.Link(t.Context(), "other/repository", desc); err != nil {
		t.Fatal(err)
	}
	f := must[io.ReadSeekCloser](t)(s.Open(t.Context(), "other/repository", d))
	defer f.Close()
	must[int64](t)(f.Seek(4990, io.SeekStart))
	if got := must[[]byte](t)(io.ReadAll(f)); !bytes.Equal(got, content[4990:]) {
		t.Errorf("a read from offset 4990 to the end returned %d other bytes", len(got))
	}
	if _, err := s.Open(t.Context(), "other/repository", digest.FromString("none")); !store.IsAbsent(err) {
		t.Errorf("opening nothing: %v", err)
	}
}
