package scrub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// Damage is one blob or file that differs from what was stored.
type Damage struct {
	// What is a blob's digest, or the path of another file of the store.
	What string
	// Why is the reason, for users.
	Why string
	// Hurts lists the artifacts and images that are incomplete because of the damage, for users.
	Hurts []string

	manifests []manifest
}

// manifest is a manifest that needs a damaged blob.
type manifest struct {
	repository string
	digest     digest.Digest
}

func (d Damage) String() string {
	hurts := "nothing refers to it"
	if len(d.Hurts) > 0 {
		hurts = "needed by " + strings.Join(d.Hurts, ", ")
	}
	return fmt.Sprintf("%s: %s: %s", d.What, d.Why, hurts)
}

// Summary counts what was read. Damaged counts the blobs and files that are damaged or missing.
type Summary struct {
	Blobs, Links, Manifests int
	Bytes                   int64
	Damaged                 int
}

// scrubber is the state of one run.
type scrubber struct {
	store  *store.Store
	bad    map[digest.Digest]*Damage
	links  []Damage
	report Summary
	// indexed has the repositories with a mark, which must have the links of all their referrers.
	indexed map[string]bool
}

// Run reads a whole store and reports each damage. The order depends only on the content of the
// store. Run returns an error if it cannot read the store; damage is not an error.
func Run(ctx context.Context, s *store.Store, report func(Damage)) (Summary, error) {
	r := &scrubber{store: s, bad: map[digest.Digest]*Damage{}, indexed: map[string]bool{}}
	if err := r.blobs(ctx); err != nil {
		return r.report, err
	}
	if err := r.repositories(ctx); err != nil {
		return r.report, err
	}
	if err := r.forgetRemoved(ctx); err != nil {
		return r.report, err
	}
	digests := make([]digest.Digest, 0, len(r.bad))
	for d := range r.bad {
		digests = append(digests, d)
	}
	slices.Sort(digests)
	for _, d := range digests {
		report(*r.bad[d])
	}
	for _, d := range r.links {
		report(d)
	}
	r.report.Damaged = len(r.bad) + len(r.links)
	return r.report, nil
}

// blobs hashes every blob. A blob whose path does not name a digest is damage too.
func (r *scrubber) blobs(ctx context.Context) error {
	return walk(ctx, r.store.Driver, store.BlobsPath, func(at string, size int64) error {
		hexDigest := path.Base(path.Dir(at))
		d := digest.NewDigestFromEncoded(digest.SHA256, hexDigest)
		if d.Validate() != nil || store.BlobPath(d) != at {
			r.links = append(r.links, Damage{What: at, Why: "its path is not the path of a blob"})
			return nil
		}
		r.report.Blobs++
		r.report.Bytes += size
		sum, err := r.hash(ctx, at)
		if store.IsAbsent(err) {
			return nil // a collection has removed it since it was listed; if a manifest needs it, need reports it
		}
		if err != nil {
			r.bad[d] = &Damage{What: d.String(), Why: "it cannot be read: " + err.Error()}
			return ctx.Err()
		}
		if sum != hexDigest {
			r.bad[d] = &Damage{What: d.String(), Why: fmt.Sprintf("its content has changed: it has sha256 %s and %d bytes now", sum, size)}
		}
		return nil
	})
}

func (r *scrubber) hash(ctx context.Context, at string) (string, error) {
	f, err := r.store.Driver.Reader(ctx, at, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.CopyBuffer(h, f, make([]byte, 1<<20)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// walk calls visit for the files below a path. A path that does not exist has no files.
func walk(ctx context.Context, driver storagedriver.StorageDriver, at string, visit func(at string, size int64) error) error {
	err := driver.Walk(ctx, at, func(f storagedriver.FileInfo) error {
		if f.IsDir() || strings.HasSuffix(f.Path(), ".tmp") {
			return nil
		}
		return visit(f.Path(), f.Size())
	})
	if err != nil && !store.IsAbsent(err) {
		return fmt.Errorf("read %s: %w", at, err)
	}
	return nil
}
