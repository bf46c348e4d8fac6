package scrub

import (
	"context"
	"fmt"
	"path"

	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// damagedDir is the folder, in the storage driver, to which damaged blobs are moved.
const damagedDir = "/depot/damaged"

// SetAside moves a damaged blob to damagedDir and removes the manifests that need this blob. A
// client can then restore the blob by a new upload of the same content. Without SetAside, clients
// do not upload the content, since the registry still lists it. SetAside does nothing for damage
// that is not in a blob.
func SetAside(ctx context.Context, s *store.Store, damage Damage) error {
	d, err := digest.Parse(damage.What)
	if err != nil {
		return nil //nolint:nilerr // the damage is not in a blob, so there is nothing to move
	}
	for _, m := range damage.manifests {
		if err := hide(ctx, s, m); err != nil {
			return fmt.Errorf("remove manifest %s from %s: %w", m.digest, m.repository, err)
		}
	}
	err = s.Driver.Move(ctx, store.BlobPath(d), path.Join(damagedDir, d.Encoded()))
	if store.IsAbsent(err) {
		return nil
	}
	return err
}

// hide removes a manifest, the tags that point to it, and the indexes that list it.
func hide(ctx context.Context, s *store.Store, m manifest) error {
	repo, err := s.Repository(ctx, m.repository)
	if err != nil {
		return err
	}
	tags, err := repo.Tags(ctx).All(ctx)
	if err != nil && !store.IsAbsent(err) {
		return err
	}
	for _, tag := range tags {
		desc, err := repo.Tags(ctx).Get(ctx, tag)
		if err == nil && desc.Digest == m.digest {
			err = repo.Tags(ctx).Untag(ctx, tag)
		}
		if err != nil && !store.IsAbsent(err) {
			return err
		}
	}
	indexes, err := indexesOf(ctx, s, m)
	if err != nil {
		return err
	}
	if err := s.DeleteManifest(ctx, m.repository, m.digest); err != nil {
		return err
	}
	for _, index := range indexes {
		if err := hide(ctx, s, index); err != nil {
			return err
		}
	}
	return nil
}

// indexesOf returns the manifests that refer to child, in the same repository.
func indexesOf(ctx context.Context, s *store.Store, child manifest) ([]manifest, error) {
	repo, err := s.Repository(ctx, child.repository)
	if err != nil {
		return nil, err
	}
	manifests, err := repo.Manifests(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.Revisions(ctx, child.repository)
	if err != nil {
		return nil, err
	}
	var found []manifest
	for _, d := range all {
		m, err := manifests.Get(ctx, d)
		if err != nil {
			continue // deleted, or damaged itself
		}
		for _, part := range m.References() {
			kept, err := s.Kept(ctx, child.repository, part.Digest)
			if part.Digest == child.digest || err == nil && kept == child.digest {
				found = append(found, manifest{child.repository, d})
			}
		}
	}
	return found, nil
}
