package archive

import (
	"context"
	"errors"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// undo takes back an archive that the registry refused half-way, which a plan
// should not let happen.
type undo struct {
	manifests []made
	// repositories were not there before.
	repositories []string
}

// made is a manifest that was not there before.
type made struct {
	repository string
	digest     digest.Digest
}

func (u *undo) note(ctx context.Context, s *store.Store, repository string) error {
	_, err := s.Driver.Stat(ctx, store.RepositoriesPath+"/"+repository+"/_manifests")
	if store.IsAbsent(err) {
		u.repositories = append(u.repositories, repository)
		return nil
	}
	return err
}

func (u *undo) run(ctx context.Context, s *store.Store) error {
	var errs []error
	for _, m := range slices.Backward(u.manifests) {
		errs = append(errs, s.DeleteManifest(ctx, m.repository, m.digest))
	}
	for _, r := range u.repositories {
		if err := s.Driver.Delete(ctx, store.RepositoriesPath+"/"+r); err != nil && !store.IsAbsent(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
