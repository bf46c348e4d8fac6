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
		errs = append(errs, removeEmpty(ctx, s, r))
	}
	return errors.Join(errs...)
}

// removeEmpty forgets a repository that has no manifest (any more). Others may
// lie in its folder, as coredns/coredns does in that of coredns: they stay.
func removeEmpty(ctx context.Context, s *store.Store, repository string) error {
	at := store.RepositoriesPath + "/" + repository
	held, err := s.Driver.List(ctx, at+"/_manifests/revisions/sha256")
	if err != nil && !store.IsAbsent(err) {
		return err
	}
	for _, revision := range held {
		if _, err := s.Driver.Stat(ctx, revision+"/link"); !store.IsAbsent(err) {
			return err // somebody has pushed there meanwhile
		}
	}
	for _, part := range []string{"/_manifests", "/_layers"} {
		if err := s.Driver.Delete(ctx, at+part); err != nil && !store.IsAbsent(err) {
			return err
		}
	}
	return nil
}
