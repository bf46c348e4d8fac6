package packages

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/depot/apt/apttest"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/uploads"
)

// depot is a depot with the uploads and packages that a test sets.
type depot struct {
	mu      sync.Mutex
	records []protocol.Record
	content map[string][]byte // by SHA-256
	damaged []protocol.Ref
	apt     []protocol.Package
	unread  []protocol.DamagedPackage // apt sources
	reads   int                       // number of uploads that were opened
	failing error                     // of the content
}

func (d *depot) List(_ context.Context, _, _ string, _ protocol.Kind, visit func(protocol.Record) error, damaged func(protocol.Ref, error) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.records {
		if err := visit(r); err != nil {
			return err
		}
	}
	for _, ref := range d.damaged {
		if err := damaged(ref, errors.New("the record is damaged")); err != nil {
			return err
		}
	}
	return nil
}

type closer struct{ io.ReadSeeker }

func (closer) Close() error { return nil }

func (d *depot) Content(_ context.Context, _ protocol.Ref, a uploads.Stored) (io.ReadSeekCloser, error) {
	if d.failing != nil {
		return nil, d.failing
	}
	d.reads++
	return closer{bytes.NewReader(d.content[a.Digest.Encoded()])}, nil
}

func (d *depot) Packages() ([]protocol.Package, []protocol.DamagedPackage, error) {
	return d.apt, d.unread, nil
}

// add adds a complete upload of owner o and cluster c.
func (d *depot) add(kind protocol.Kind, name string, content []byte) {
	sum := sha256.Sum256(content)
	complete := true
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.content == nil {
		d.content = map[string][]byte{}
	}
	d.content[hex.EncodeToString(sum[:])] = content
	d.records = append(d.records, protocol.Record{
		Owner: "o", ClusterName: "c", ImageName: name, Kind: kind, ImageLength: int64(len(content)), SHA256: hex.EncodeToString(sum[:]), UploadComplete: &complete,
	})
}

func (d *depot) index() *Index { return New(d, d, slog.New(slog.DiscardHandler)) }

// get sends a request, and returns the answer with the list in its body.
func get(t *testing.T, x *Index, header ...string) (*httptest.ResponseRecorder, protocol.PackageList) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, protocol.PackagesPath, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	if err := x.Serve(w, r); err != nil {
		t.Errorf("Serve: %v", err)
	}
	var list protocol.PackageList
	if w.Code == http.StatusOK {
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
			t.Errorf("%s: %v", w.Body, err)
		}
	}
	return w, list
}

func TestList(t *testing.T) {
	d := &depot{apt: []protocol.Package{{Name: "app", Version: "0", System: "debian-12", Path: "/files/apt/debian-12/app.deb"}}}
	d.damaged = []protocol.Ref{{Owner: "o", Cluster: "c", Kind: protocol.OSImages, Name: "image"}, {Owner: "o", Cluster: "c", Kind: protocol.BinaryImages, Name: "hurt.deb"}}
	deb := apttest.Package(t, "app", "1", "amd64", "")
	d.add(protocol.BinaryImages, "first.deb", deb)
	d.add(protocol.BinaryImages, "second.deb", deb)
	d.add(protocol.BinaryImages, "qat-1.7.tar", archive(t, entry{"install.sh", ""}))
	d.add(protocol.BinaryImages, "bad.tar", []byte("text"))
	d.add(protocol.BinaryImages, "kubelet", []byte("\x7fELF"))
	d.add(protocol.OSImages, "other.deb", deb)
	unfinished := false
	d.records = append(d.records, protocol.Record{Owner: "o", ClusterName: "c", ImageName: "new.deb", Kind: protocol.BinaryImages, UploadComplete: &unfinished})
	x := d.index()
	_, list := get(t, x)
	var got []string
	for _, p := range list.Packages {
		got = append(got, fmt.Sprintf("%s %s %s %s %s%s/%s %s", p.Name, p.Version, p.Format, p.Architecture, p.System, p.Owner, p.Cluster, p.Path))
	}
	want := []string{
		"app 0   debian-12/ /files/apt/debian-12/app.deb",
		"app 1 deb amd64 o/c /files/binary_images/o/c/first.deb",
		"app 1 deb amd64 o/c /files/binary_images/o/c/second.deb",
		"qat 1.7 tar  o/c /files/binary_images/o/c/qat-1.7.tar",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
	if len(list.Damaged) != 2 || list.Damaged[0].Name != "bad.tar" || list.Damaged[1].Name != "hurt.deb" {
		t.Errorf("damaged: %+v", list.Damaged)
	}
	const contents = 4 // the two uploads with the same content are read once
	if get(t, x); d.reads != contents {
		t.Errorf("%d reads of %d contents", d.reads, contents)
	}
	d.records = nil
	if get(t, x); len(x.known) != 0 {
		t.Errorf("the index remembers %d uploads that are gone", len(x.known))
	}
}

// An apt source that cannot be read is in the list as damaged, and the other packages are there.
func TestUnreadableSourceIsDamaged(t *testing.T) {
	d := &depot{unread: []protocol.DamagedPackage{{Name: "apt/debian-12", Reason: "see the depot's log"}}}
	d.add(protocol.BinaryImages, "app.deb", apttest.Package(t, "app", "1", "amd64", ""))
	if _, list := get(t, d.index()); len(list.Packages) != 1 || len(list.Damaged) != 1 || list.Damaged[0] != d.unread[0] {
		t.Errorf("list: %+v", list)
	}
}

// A disk that fails for a moment does not make a package damaged for ever.
func TestUnreadableUploadIsReadAgain(t *testing.T) {
	d := &depot{failing: errors.New("input/output error")}
	d.add(protocol.BinaryImages, "app.deb", apttest.Package(t, "app", "1", "amd64", ""))
	x := d.index()
	if _, list := get(t, x); len(list.Packages) != 0 || len(list.Damaged) != 1 {
		t.Errorf("with a failing disk: %+v", list)
	}
	d.failing = nil
	if _, list := get(t, x); len(list.Packages) != 1 || len(list.Damaged) != 0 {
		t.Errorf("with a good disk: %+v", list)
	}
}

// poll sends a request that waits, and returns the code of its answer with the time that it took.
func poll(t *testing.T, x *Index, etag, prefer string) (int, time.Duration) {
	t.Helper()
	began := time.Now()
	w, _ := get(t, x, "If-None-Match", etag, "Prefer", prefer)
	return w.Code, time.Since(began)
}

func TestWaiting(t *testing.T) {
	deb := apttest.Package(t, "app", "1", "amd64", "")
	for name, c := range map[string]struct {
		prefer string
		event  func(d *depot, x *Index) // 10 s after the request began
		code   int
		took   time.Duration
	}{
		"nothing happens": {"wait=60", func(*depot, *Index) {}, 304, time.Minute},
		"an upload":       {"respond-async, wait=60", func(d *depot, x *Index) { d.add(protocol.BinaryImages, "app.deb", deb); x.Changed() }, 200, 10 * time.Second},
		"another change":  {"wait=60", func(d *depot, x *Index) { d.add(protocol.OSImages, "image", nil); x.Changed() }, 304, time.Minute},
		"a copied file":   {"wait=60", func(d *depot, _ *Index) { d.add(protocol.BinaryImages, "app.deb", deb) }, 200, time.Minute},
		"the depot stops": {"wait=60", func(_ *depot, x *Index) { x.Stop() }, 304, 10 * time.Second},
		"too long":        {"wait=3600", func(*depot, *Index) {}, 304, MaxWait},
		"no preference":   {"wait=soon", func(*depot, *Index) {}, 304, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &depot{}
				x := d.index()
				w, _ := get(t, x)
				time.AfterFunc(10*time.Second, func() { c.event(d, x) })
				if code, took := poll(t, x, w.Header().Get("ETag"), c.prefer); code != c.code || took != c.took {
					t.Errorf("%d after %s, want %d after %s", code, took, c.code, c.took)
				}
				if x.waiters.all != 0 || len(x.waiters.of) != 0 {
					t.Errorf("waiters remain: %+v", x.waiters)
				}
				time.Sleep(time.Minute) // synctest: until the event is over
			})
		})
	}
}

// A client with another list gets the new one at once.
func TestOldListDoesNotWait(t *testing.T) {
	if w, _ := get(t, (&depot{}).index(), "If-None-Match", `"old"`, "Prefer", "wait=300"); w.Code != http.StatusOK {
		t.Errorf("%d", w.Code)
	}
}

func TestOneClientLeavesPlacesToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := (&depot{}).index()
		w, _ := get(t, x)
		etag := w.Header().Get("ETag")
		for range maxClientsWaiters {
			go poll(t, x, etag, "wait=60")
		}
		synctest.Wait()
		if w, _ := get(t, x, "If-None-Match", etag, "Prefer", "wait=60"); w.Code != http.StatusNotModified || w.Header().Get("Retry-After") != busyPause {
			t.Errorf("one request too many: %d %v", w.Code, w.Header())
		}
		if _, ok := x.waiters.enter("another"); !ok {
			t.Error("another client cannot wait")
		}
		x.Changed()
		time.Sleep(time.Minute)
		synctest.Wait()
	})
}

func TestClientThatLeavesEndsItsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := (&depot{}).index()
		w, _ := get(t, x)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, protocol.PackagesPath, http.NoBody)
		r.Header.Set("If-None-Match", w.Header().Get("ETag"))
		r.Header.Set("Prefer", "wait=60")
		if err := x.Serve(httptest.NewRecorder(), r); !errors.Is(err, context.DeadlineExceeded) || x.waiters.all != 0 {
			t.Errorf("%v, %d waiters", err, x.waiters.all)
		}
	})
}
