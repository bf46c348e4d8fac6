package uploads

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

func TestBytesThatCameOverABadLineKeepAnUpload(t *testing.T) {
	s := newService(t, limits.Limits{Expiry: time.Hour})
	p := begun(t, s, content[:5])
	later := time.Now().Add(50 * time.Minute)
	s.now = func() time.Time { return later }
	cut := io.MultiReader(strings.NewReader(content[5:7]), iotest.ErrReader(io.ErrUnexpectedEOF))
	if n, err := s.Append(t.Context(), p, 5, cut); n != 7 || err == nil {
		t.Fatalf("Append = %d, %v", n, err)
	}
	s.now = func() time.Time { return later.Add(50 * time.Minute) }
	if err := s.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	must(t, s)
}

func TestADamagedNoteStopsNothingElse(t *testing.T) {
	s := newService(t, limits.Limits{})
	begun(t, s, content)
	bad := pendingPath(key(protocol.Ref{Owner: "o", Cluster: "c", Kind: protocol.OSImages, Name: "another"}))
	if err := s.store.Driver.PutContent(t.Context(), bad, []byte("{")); err != nil {
		t.Fatal(err)
	}
	recovered(t, s)
	wantWhole(t, s)
	if err := s.List(t.Context(), "", "", "", func(protocol.Record) error { return nil }, func(_ protocol.Ref, err error) error { return err }); err != nil {
		t.Error(err)
	}
	// A note that cannot be parsed stops the garbage collection. Otherwise it could remove a blob
	// that is in use.
	var note *damagedNote
	if _, err := Received(t.Context(), s.store); !errors.As(err, &note) || !strings.Contains(err.Error(), bad) {
		t.Errorf("Received = %v, want an error that names %s", err, bad)
	}
}

// A client that sends a whole artifact tries again after the depot was killed.
func TestAnUploadInOneRequestEndsWithItsProcess(t *testing.T) {
	s := newService(t, limits.Limits{})
	rec := protocol.Record{Owner: image.Owner, ClusterName: image.Cluster, Kind: image.Kind, ImageName: image.Name, ImageLength: int64(len(content))}
	p, err := s.CreateWhole(t.Context(), rec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), p, 0, strings.NewReader(content[:5])); err != nil {
		t.Fatal(err)
	}
	again := New(s.store, limits.NewQuota(limits.Limits{MaxOpen: 1}, &limits.Usage{Dir: s.store.Dir()}), nil, s.log)
	recovered(t, again)
	if _, err := again.CreateWhole(t.Context(), rec); err != nil {
		t.Errorf("the second try: %v", err)
	}
}
