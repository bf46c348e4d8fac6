package uploads

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// pendingDir is the folder, in the storage driver, that has a note for each open upload. A note is
// a small file with the upload's Pending in JSON.
const pendingDir = "/depot/uploads"

// Pending is an open upload. An artifact has at most one.
type Pending struct {
	// ID distinguishes this upload from an earlier upload of the same artifact.
	ID     string          `json:"id"`
	Record protocol.Record `json:"record"`
	// Writer is the id of the upload in the staging repository.
	Writer string `json:"writer"`
	// Whole means that the content comes in one request, so the upload cannot be resumed.
	Whole bool `json:"whole,omitempty"`
	// Digest is set once all bytes are stored and match the announced checksum. From then on the
	// upload can only be finished.
	Digest digest.Digest `json:"digest,omitempty"`
	// Touched is the time when the last bytes were received.
	Touched time.Time `json:"touched"`
}

// key returns a short identifier of an artifact, for uses where its path is too long or has
// unsuitable characters.
func key(ref protocol.Ref) string {
	sum := sha256.Sum256([]byte(ref.String()))
	return hex.EncodeToString(sum[:16])
}

func newID() string {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // crypto/rand never returns an error
	return hex.EncodeToString(id)
}

func pendingPath(key string) string { return path.Join(pendingDir, key) }

func (s *Service) pending(ctx context.Context, ref protocol.Ref) (Pending, bool, error) {
	return s.pendingAt(ctx, pendingPath(key(ref)))
}

func (s *Service) pendingAt(ctx context.Context, path string) (Pending, bool, error) {
	return readPending(ctx, s.store, path)
}

func readPending(ctx context.Context, s *store.Store, path string) (Pending, bool, error) {
	body, err := s.Driver.GetContent(ctx, path)
	if store.IsAbsent(err) {
		return Pending{}, false, nil
	}
	if err != nil {
		return Pending{}, false, fmt.Errorf("read upload %s: %w", path, err)
	}
	var p Pending
	if err := json.Unmarshal(body, &p); err != nil {
		return Pending{}, false, &damagedNote{path, err}
	}
	return p, true, nil
}

// damagedNote is the error for the note of an open upload that cannot be parsed.
type damagedNote struct {
	path string
	err  error
}

func (d *damagedNote) Error() string {
	return fmt.Sprintf("the note of an open upload is damaged: remove %s from the store and upload that artifact again: %v", d.path, d.err)
}

func (d *damagedNote) Unwrap() error { return d.err }

func (s *Service) savePending(ctx context.Context, p Pending) error {
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	ref := p.Record.Ref()
	if err := s.store.Driver.PutContent(ctx, pendingPath(key(ref)), body); err != nil {
		return fmt.Errorf("save the note of the upload of %s: %w", ref, err)
	}
	return nil
}

func (s *Service) dropPending(ctx context.Context, p Pending) error {
	ref := p.Record.Ref()
	err := s.store.Driver.Delete(ctx, pendingPath(key(ref)))
	if err != nil && !store.IsAbsent(err) {
		return fmt.Errorf("remove the note of the upload of %s: %w", ref, err)
	}
	s.quota.Release(key(ref))
	return nil
}

// eachPending calls visit for each open upload, and logs the notes that are damaged.
func (s *Service) eachPending(ctx context.Context, visit func(Pending) error) error {
	return eachPending(ctx, s.store, visit, func(d *damagedNote) error {
		s.log.Error("skipped an open upload", "error", d)
		return nil
	})
}

// Received returns the digests of the uploads that have all their bytes, but are not visible yet
// because of a crash.
func Received(ctx context.Context, s *store.Store) ([]digest.Digest, error) {
	var found []digest.Digest
	err := eachPending(ctx, s, func(p Pending) error {
		if p.Digest != "" {
			found = append(found, p.Digest)
		}
		return nil
	}, func(d *damagedNote) error { return d })
	return found, err
}

func eachPending(ctx context.Context, s *store.Store, visit func(Pending) error, damaged func(*damagedNote) error) error {
	paths, err := s.Driver.List(ctx, pendingDir)
	if err != nil && !store.IsAbsent(err) {
		return err
	}
	for _, at := range paths {
		if strings.HasSuffix(at, ".tmp") {
			continue // being written
		}
		p, ok, err := readPending(ctx, s, at)
		var note *damagedNote
		if errors.As(err, &note) {
			err = damaged(note)
		}
		if err != nil {
			return err
		}
		if ok {
			if err := visit(p); err != nil {
				return err
			}
		}
	}
	return nil
}
