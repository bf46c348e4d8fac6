package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/distribution/distribution/v3"
	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"
)

// Hook wraps a registry that uses this store's driver. When the wrapped registry stores a manifest
// with a subject, it also writes a referrer link. When it receives content that the store already
// has, the new content replaces the stored content, which may be damaged. The store's own Registry
// is wrapped already.
func (s *Store) Hook(registry distribution.Namespace) (distribution.Namespace, error) {
	enumerator, ok := registry.(distribution.RepositoryEnumerator)
	if !ok {
		return nil, errors.New("the registry cannot list its repositories")
	}
	remover, ok := registry.(distribution.RepositoryRemover)
	if !ok {
		return nil, errors.New("the registry cannot remove a repository")
	}
	return &namespace{registry, enumerator, remover, s}, nil
}

type namespace struct {
	distribution.Namespace
	distribution.RepositoryEnumerator
	distribution.RepositoryRemover
	store *Store
}

func (n *namespace) Repository(ctx context.Context, name reference.Named) (distribution.Repository, error) {
	inner, err := n.Namespace.Repository(ctx, name)
	if err != nil {
		return nil, err
	}
	return &repository{inner, n.store}, nil
}

type repository struct {
	distribution.Repository
	store *Store
}

func (r *repository) Blobs(ctx context.Context) distribution.BlobStore {
	return blobs{r.Repository.Blobs(ctx), r.store}
}

func (r *repository) Manifests(ctx context.Context, options ...distribution.ManifestServiceOption) (distribution.ManifestService, error) {
	inner, err := r.Repository.Manifests(ctx, options...)
	if err != nil {
		return nil, err
	}
	return &manifests{inner, r.store, r.Named().Name()}, nil
}

type manifests struct {
	distribution.ManifestService
	store *Store
	name  string
}

// Put pins the manifest and the content that it refers to. It writes the referrer link before the
// manifest. A crash between these two writes leaves a link
// without a manifest, which no client sees. In the other order, a client would find its manifest
// after the crash and would not send it again, so the link would be missing for ever.
func (m *manifests) Put(ctx context.Context, manifest distribution.Manifest, options ...distribution.ManifestServiceOption) (digest.Digest, error) {
	_, body, err := manifest.Payload()
	if err != nil {
		return "", err
	}
	subject, d := SubjectOf(body), digest.FromBytes(body)
	defer m.store.PinManifest(ctx, m.name, d, manifest)() // before any other lock: a collection holds that of a pin while it deletes manifests
	writing := replacing(ctx, BlobPath(d))
	if subject == "" {
		return m.ManifestService.Put(writing, manifest, options...)
	}
	link := referrerLink{m.name, subject, d}
	defer m.store.holdReferrer(link)()
	there, err := m.Exists(ctx, link.referrer)
	if err != nil {
		return "", err
	}
	if err := m.store.link(ctx, link); err != nil {
		return "", err
	}
	d, err = m.ManifestService.Put(writing, manifest, options...)
	if err != nil && !there {
		// If the link remains, no client sees it, and the next garbage collection removes it. The
		// registry library must get the original error.
		_ = m.store.unlink(context.WithoutCancel(ctx), link)
	}
	return d, err
}

// Delete first removes the links of the manifest's other digests, since these must not outlive the
// manifest. It then removes the manifest, and after that the referrer link. A crash between the
// last two steps leaves only a referrer link, which no client sees.
func (m *manifests) Delete(ctx context.Context, d digest.Digest) error {
	body, err := m.store.Manifest(ctx, m.name, d)
	if err != nil {
		return m.ManifestService.Delete(ctx, d) // a damaged manifest can be deleted too
	}
	link := referrerLink{m.name, SubjectOf(body), d}
	if link.subject != "" {
		defer m.store.holdReferrer(link)()
	}
	if err := m.store.dropAliases(ctx, m.name, d, body); err != nil {
		return fmt.Errorf("remove the other digests of %s: %w", d, err)
	}
	if err := m.ManifestService.Delete(ctx, d); err != nil {
		return err
	}
	if link.subject != "" {
		// The error is ignored, since a remaining link does no harm: the manifest is deleted, and
		// the caller must go on to remove its tags.
		_ = m.store.unlink(context.WithoutCancel(ctx), link)
	}
	return nil
}
