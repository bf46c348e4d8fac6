package store

import (
	"context"
	"fmt"
	"path"

	_ "crypto/sha512" // registers sha384 and sha512, by which clients may name content

	"github.com/opencontainers/go-digest"
)

// Revisions returns the sha256 digests of a repository's manifests.
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

// Manifest returns the original bytes of a manifest of a repository, by any of its digests. If
// there is none, IsAbsent is true for the error.
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

// The store keeps a blob only under its sha256. If content was pushed by another digest, the
// repository has a link under that digest, which points to the sha256. The registry library creates
// such links for layers, and the store creates them for manifests. The library follows both.

// Kept returns the digest under which a repository keeps a manifest; d may be any of the manifest's
// digests.
func (s *Store) Kept(ctx context.Context, repository string, d digest.Digest) (digest.Digest, error) {
	if err := d.Validate(); err != nil {
		return "", err
	}
	content, err := s.Driver.GetContent(ctx, RevisionPath(repository, d))
	if err != nil {
		return "", err
	}
	kept, err := digest.Parse(string(content))
	if err != nil {
		return "", fmt.Errorf("link of manifest %s in %s: %w: scrub the store", d, repository, err)
	}
	return kept, nil
}

// AliasManifest makes a manifest of a repository available under another digest too.
func (s *Store) AliasManifest(ctx context.Context, repository string, other, kept digest.Digest) error {
	return s.Driver.PutContent(ctx, RevisionPath(repository, other), []byte(kept))
}

// AliasBlob makes a blob of a repository available under another digest too.
func (s *Store) AliasBlob(ctx context.Context, repository string, other, kept digest.Digest) error {
	return s.Driver.PutContent(ctx, path.Join(RepositoriesPath, repository, "_layers", other.Algorithm().String(), other.Encoded(), "link"), []byte(kept))
}

// OtherAlgorithms lists the algorithms, other than sha256, by which clients may name content.
var OtherAlgorithms = []digest.Algorithm{digest.SHA384, digest.SHA512}

// dropAliases removes the links of a manifest's other digests.
func (s *Store) dropAliases(ctx context.Context, repository string, kept digest.Digest, body []byte) error {
	for _, algorithm := range OtherAlgorithms {
		other := algorithm.FromBytes(body)
		if other == kept {
			continue
		}
		err := s.Driver.Delete(ctx, path.Dir(RevisionPath(repository, other)))
		if err != nil && !IsAbsent(err) {
			return err
		}
	}
	return nil
}

// RevisionPath returns the driver's path of the link by which a repository has a manifest.
func RevisionPath(repository string, d digest.Digest) string {
	return path.Join(RepositoriesPath, repository, "_manifests/revisions", d.Algorithm().String(), d.Encoded(), "link")
}
