package store

import (
	"context"
	"fmt"
	"path"

	_ "crypto/sha512" // what may name content beside sha256

	"github.com/opencontainers/go-digest"
)

// Revisions are the manifests of a repository, by their sha256.
func (s *Store) Revisions(ctx context.Context, repository string) ([]digest.Digest, error) {
	paths, err := s.Driver.List(ctx, path.Join(RepositoriesPath, repository, "_manifests/revisions/sha256"))
	if err != nil {
		return nil, unlessAbsent(err)
	}
	var found []digest.Digest
	for _, p := range paths {
		_, err := s.Driver.Stat(ctx, path.Join(p, "link"))
		if IsAbsent(err) {
			continue // deleted
		}
		if err != nil {
			return nil, err
		}
		found = append(found, digest.NewDigestFromEncoded(digest.SHA256, path.Base(p)))
	}
	return found, nil
}

// Manifest reads a manifest of a repository as it came, whichever of its
// digests is asked for. For one that is not there, IsAbsent is true.
func (s *Store) Manifest(ctx context.Context, repository string, d digest.Digest) ([]byte, error) {
	kept, err := s.Kept(ctx, repository, d)
	if err != nil {
		return nil, err
	}
	body, err := s.Driver.GetContent(ctx, BlobPath(kept))
	if err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", d, err)
	}
	return body, nil
}

// A blob is kept by its sha256 alone. What has been pushed by another digest
// has a link of that name which leads there, as the library makes for layers and
// follows for both; for manifests, the store makes it.

// Kept is the digest by which a repository keeps a manifest.
func (s *Store) Kept(ctx context.Context, repository string, d digest.Digest) (digest.Digest, error) {
	if err := d.Validate(); err != nil {
		return "", err
	}
	content, err := s.Driver.GetContent(ctx, revisionPath(repository, d))
	if err != nil {
		return "", err
	}
	kept, err := digest.Parse(string(content))
	if err != nil {
		return "", fmt.Errorf("link of manifest %s in %s: %w: scrub the store", d, repository, err)
	}
	return kept, nil
}

// AliasManifest lets a manifest that a repository has be found by another digest as well.
func (s *Store) AliasManifest(ctx context.Context, repository string, other, kept digest.Digest) error {
	return s.Driver.PutContent(ctx, revisionPath(repository, other), []byte(kept))
}

// AliasBlob lets a blob that a repository has be found by another digest as well.
func (s *Store) AliasBlob(ctx context.Context, repository string, other, kept digest.Digest) error {
	return s.Driver.PutContent(ctx, path.Join(RepositoriesPath, repository, "_layers", other.Algorithm().String(), other.Encoded(), "link"), []byte(kept))
}

// OtherAlgorithms are those by which content may be named, beside sha256.
var OtherAlgorithms = []digest.Algorithm{digest.SHA384, digest.SHA512}

// dropAliases removes the other names of a manifest.
func (s *Store) dropAliases(ctx context.Context, repository string, kept digest.Digest, body []byte) error {
	for _, algorithm := range OtherAlgorithms {
		other := algorithm.FromBytes(body)
		if other == kept {
			continue
		}
		err := s.Driver.Delete(ctx, path.Dir(revisionPath(repository, other)))
		if err != nil && !IsAbsent(err) {
			return err
		}
	}
	return nil
}

func revisionPath(repository string, d digest.Digest) string {
	return path.Join(RepositoriesPath, repository, "_manifests/revisions", d.Algorithm().String(), d.Encoded(), "link")
}
