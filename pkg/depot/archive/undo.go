package archive

import (
	"context"
	"errors"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// undo removes the manifests that an import has stored, if the registry then refuses another
// manifest of the same archive. The checks of a plan should prevent such a refusal.
type undo struct {
	manifests []made
	// repositories are the repositories that did not exist before the import.
	repositories []string
}

// made is a manifest that did not exist before the import.
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

// removeEmpty removes a repository that has no manifest. Other repositories may lie in its folder,
// such as coredns/coredns in the folder of coredns: these stay.
func removeEmpty(ctx context.Context, s *store.Store, repository string) error {
	at := store.RepositoriesPath + "/" + repository
	held, err := s.Driver.List(ctx, at+"/_manifests/revisions/sha256")
	if err != nil && !store.IsAbsent(err) {
		return err
	}
	for _, revision := range held {
		if _, err := s.Driver.Stat(ctx, revision+"/link"); !store.IsAbsent(err) {
			return err // a client has pushed to this repository meanwhile
		}
	}
	for _, part := range []string{"/_manifests", "/_layers"} {
		if err := s.Driver.Delete(ctx, at+part); err != nil && !store.IsAbsent(err) {
			return err
		}
	}
	return nil
}
