package packages

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/uploads"
)

// Uploads are the uploads at /v1. *uploads.Service implements it.
type Uploads interface {
	List(ctx context.Context, owner, cluster string, kind protocol.Kind, visit func(protocol.Record) error, damaged func(protocol.Ref, error) error) error
	Content(ctx context.Context, ref protocol.Ref, a uploads.Stored) (io.ReadSeekCloser, error)
}

// Sources are the apt sources. *apt.Repositories implements it.
type Sources interface {
	Packages() ([]protocol.Package, []protocol.DamagedPackage, error)
}

// Index makes the list of all packages and serves it. Create it with New.
type Index struct {
	uploads Uploads
	sources Sources
	log     *slog.Logger
	waiters *waiters

	// turn is taken while a list is made, so that one upload is read at a time. It protects last and known.
	turn  chan struct{}
	last  *listing
	known map[cacheKey]facts

	mu      sync.Mutex
	changed chan struct{} // closed by the next Changed
	stopped chan struct{}
}

// cacheKey selects the facts of an upload: read reads an upload without a known ending differently.
type cacheKey struct {
	sha256 string
	want   protocol.PackageFormat
}

// listing is the list at one moment.
type listing struct {
	body    []byte // JSON
	etag    string
	began   time.Time       // when the depot began to make it
	changed <-chan struct{} // closed after the first change since began
}

// New returns the list of the packages of uploads and sources. The caller calls Changed after every
// change of them.
func New(u Uploads, s Sources, log *slog.Logger) *Index {
	return &Index{
		uploads: u, sources: s, log: log, waiters: newWaiters(), turn: make(chan struct{}, 1),
		known: map[cacheKey]facts{}, changed: make(chan struct{}), stopped: make(chan struct{}),
	}
}

// Changed ends the wait of all requests that wait for a change.
func (x *Index) Changed() {
	x.mu.Lock()
	defer x.mu.Unlock()
	close(x.changed)
	x.changed = make(chan struct{})
}

// Stop ends the wait of all requests, and lets no request wait any more. Call it once.
func (x *Index) Stop() { close(x.stopped) }

func (x *Index) nextChange() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.changed
}

// current returns a list that includes all changes before the call. Requests that come while a list is
// made share the next one.
func (x *Index) current(ctx context.Context) (*listing, error) {
	asked := time.Now()
	select {
	case x.turn <- struct{}{}:
		defer func() { <-x.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if x.last != nil && x.last.began.After(asked) {
		return x.last, nil
	}
	next := &listing{began: time.Now(), changed: x.nextChange()}
	list, err := x.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	if next.body, err = json.Marshal(list); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(next.body)
	next.etag = `"` + hex.EncodeToString(sum[:]) + `"`
	x.last = next
	return next, nil
}

// list makes the list. It forgets the facts of uploads that are gone.
func (x *Index) list(ctx context.Context) (protocol.PackageList, error) {
	list := protocol.PackageList{Packages: []protocol.Package{}}
	damaged := func(ref protocol.Ref, reason string) {
		list.Damaged = append(list.Damaged, protocol.DamagedPackage{Owner: ref.Owner, Cluster: ref.Cluster, Name: ref.Name, Reason: reason})
	}
	seen := map[cacheKey]facts{}
	err := x.uploads.List(ctx, "", "", "", func(rec protocol.Record) error {
		if rec.Kind != protocol.BinaryImages || !rec.Complete() {
			return nil
		}
		found, reason, err := x.upload(ctx, rec, seen)
		switch {
		case err != nil:
			return err
		case reason != "":
			damaged(rec.Ref(), reason)
		case found != nil:
			list.Packages = append(list.Packages, *found)
		}
		return nil
	}, func(ref protocol.Ref, err error) error {
		if ref.Kind == protocol.BinaryImages {
			damaged(ref, shorten(err.Error()))
		}
		return nil
	})
	if err != nil {
		return list, err
	}
	x.known = seen
	found, unread, err := x.sources.Packages()
	list.Packages, list.Damaged = append(list.Packages, found...), append(list.Damaged, unread...)
	sortList(&list)
	return list, err
}

func sortList(list *protocol.PackageList) {
	slices.SortFunc(list.Packages, func(a, b protocol.Package) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Architecture, b.Architecture), cmp.Compare(a.Path, b.Path))
	})
	slices.SortFunc(list.Damaged, func(a, b protocol.DamagedPackage) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Name, b.Name))
	})
}

// upload returns the package of an upload, or the reason why the upload is no usable package. Both are
// empty for an upload that is something else, such as a single program.
func (x *Index) upload(ctx context.Context, rec protocol.Record, seen map[cacheKey]facts) (found *protocol.Package, reason string, err error) {
	stem, want := splitEnding(rec.ImageName)
	key := cacheKey{rec.SHA256, want}
	f, known := seen[key]
	if !known {
		f, known = x.known[key]
	}
	if !known {
		if f, err = x.read(ctx, rec, want); err != nil {
			if ctx.Err() != nil {
				return nil, "", err
			}
			x.log.Warn("a package cannot be read: the depot tries again at the next request", "upload", rec.Ref().String(), "error", err)
			return nil, "the depot cannot read it now, and tries again later: see the depot's log", nil
		}
		x.known[key] = f // also if the list is not completed, so that the next attempt continues
	}
	seen[key] = f
	if f.format == "" || f.problem != "" {
		return nil, f.problem, nil
	}
	p := &protocol.Package{
		Name: f.name, Version: f.version, Format: f.format, Architecture: f.architecture, Owner: rec.Owner, Cluster: rec.ClusterName,
		Path: "/files/" + rec.Ref().FilePath(), SHA256: rec.SHA256, Size: rec.ImageLength,
	}
	if f.format == protocol.FormatTar {
		if p.Name, p.Version, err = tarName(stem, f.version); err != nil {
			return nil, shorten(err.Error()), nil
		}
	}
	return p, "", nil
}

func (x *Index) read(ctx context.Context, rec protocol.Record, want protocol.PackageFormat) (facts, error) {
	content, err := x.uploads.Content(ctx, rec.Ref(), uploads.Stored{Record: rec, Digest: digest.NewDigestFromEncoded(digest.SHA256, rec.SHA256)})
	if err != nil {
		return facts{}, err
	}
	defer content.Close()
	return read(ctx, content, rec.ImageLength, want)
}
