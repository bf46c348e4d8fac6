package uploads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// artifactType is the media type of an artifact's manifest.
const artifactType = "application/vnd.akraino.bpa.artifact.v1"

// annotationUpload has the id of the upload that an artifact came from. With it, a client that
// missed the last answer finds out that the upload is complete.
const annotationUpload = "org.akraino.bpa.upload"

// Finish checks an upload that has all its bytes, and makes it visible. It may be repeated after a
// crash at any point.
func (s *Service) Finish(ctx context.Context, p Pending) (protocol.Record, error) {
	return s.finish(context.WithoutCancel(ctx), p) // all bytes are here: continue even if the client disconnects
}

func (s *Service) finish(ctx context.Context, p Pending) (protocol.Record, error) {
	ref := p.Record.Ref()
	if p.Digest == "" {
		var err error
		if p, err = s.check(ctx, p); err != nil {
			return p.Record, err
		}
	}
	defer s.store.Pin(p.Digest)() // until the artifact refers to the content
	if err := s.store.Commit(ctx, protocol.Staging, p.Writer, p.Digest, p.Record.ImageLength); err != nil {
		return p.Record, fmt.Errorf("store %s: %w", ref, err)
	}
	s.quota.Less(key(ref), p.Record.ImageLength) // the content is a blob now, and the quota counts it as one
	rec, err := s.publish(ctx, p)
	if isRefused(ctx, err) {
		err = errors.Join(err, s.discard(ctx, p))
	}
	if err != nil {
		return rec, err
	}
	return rec, s.dropPending(ctx, p)
}

// check compares the content's digest with the announced one, and saves the digest if they match.
func (s *Service) check(ctx context.Context, p Pending) (Pending, error) {
	d, err := s.store.Digest(ctx, protocol.Staging, p.Writer, p.Record.ImageLength)
	if err != nil {
		return p, fmt.Errorf("checksum of %s: %w", p.Record.Ref(), err)
	}
	if given := p.Record.SHA256; given != "" && given != d.Encoded() {
		return p, errors.Join(&DigestError{Given: given, Computed: d.Encoded()}, s.Abort(ctx, p))
	}
	p.Digest, p.Record.SHA256 = d, d.Encoded()
	return p, s.savePending(ctx, p)
}

func (s *Service) publish(ctx context.Context, p Pending) (protocol.Record, error) {
	rec := p.Record
	again, err := s.published(ctx, rec.Ref())
	if err != nil {
		return rec, err
	}
	images, err := s.importImages(ctx, rec, protocol.Staging, p.Digest, again)
	if err != nil {
		return rec, err
	}
	rec.Images = images
	setProgress(&rec, rec.ImageLength, true)
	now := s.now().UTC().Truncate(time.Second)
	rec.Updated = &now
	s.sharing.RLock()
	defer s.sharing.RUnlock()
	if err := s.save(ctx, rec, p.Digest, p.ID); err != nil {
		return rec, err
	}
	if !again { // else the artifact is counted already
		s.quota.Publish(key(rec.Ref()))
	}
	return rec, nil
}

// published reports whether the artifact is visible although its upload has not ended. This is the
// case if the upload repairs the artifact, or if a crash came after the artifact was published.
func (s *Service) published(ctx context.Context, ref protocol.Ref) (bool, error) {
	_, err := s.Stored(ctx, ref)
	var damaged *store.DamagedError
	switch {
	case err == nil, errors.As(err, &damaged):
		return true, nil
	case errors.Is(err, ErrNotFound):
		return false, nil
	}
	return false, err
}

func (s *Service) save(ctx context.Context, rec protocol.Record, d digest.Digest, upload string) error {
	body, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	err = s.store.Save(ctx, rec.Ref().Repository(), protocol.Tag, store.Document{
		Type:   artifactType,
		Config: body,
		Layers: []v1.Descriptor{{
			MediaType: "application/octet-stream", Digest: d, Size: rec.ImageLength,
			Annotations: map[string]string{v1.AnnotationTitle: rec.ImageName, annotationUpload: upload},
		}},
	})
	s.changed(rec.Ref()) // also after an error, which may come after the change is visible
	return err
}

// discard removes an upload whose content is a blob already, such as an archive that was refused.
// The blob then belongs to no repository, and the next garbage collection removes it.
func (s *Service) discard(ctx context.Context, p Pending) error {
	repo, err := s.store.Repository(ctx, protocol.Staging)
	if err != nil {
		return err
	}
	if err := repo.Blobs(ctx).Delete(ctx, p.Digest); err != nil && !store.IsAbsent(err) {
		return err
	}
	return s.dropPending(ctx, p)
}
