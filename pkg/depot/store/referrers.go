package store

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"path"
	"slices"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// ReferrersFolder is the folder in which a repository records which of its manifests refer to
// another manifest by their subject:
//
//	<repository>/_referrers/<algorithm>/<subject>/<algorithm>/<referrer>/link   content: the referrer's digest
//	<repository>/_referrers/indexed                                             content: referrersMark
//
// The folder is inside the repository's own folder, so it is copied, moved and removed with the
// repository. Like a link of the registry library, each link is a file of its own, so no file is
// ever changed in place and writers need no coordination. The folder cannot be a repository, since
// no repository's name begins with an underscore.
//
// A link is a hint: readers check the manifest itself. A link that a crash left without its
// manifest is therefore never visible. The file indexed is the mark of the repository: it states
// that the repository has all its links. Earlier versions of the depot wrote no links, so the mark
// is written after the missing links were created.
const ReferrersFolder = "_referrers"

const (
	indexedFile = "indexed"
	// referrersMark is the content of the mark. It means that every manifest of this repository
	// that has a subject also has a referrer link. The text must never change, since existing
	// stores contain it and the scrubber compares it.
	referrersMark = "every manifest of this repository with a subject has a link\n"
)

// SubjectOf returns the digest of the manifest that a manifest refers to. It is empty for a
// manifest without a subject, or with an invalid digest. Only OCI images and indexes have subjects;
// their mediaType may be missing.
func SubjectOf(manifest []byte) digest.Digest {
	var m struct {
		MediaType string
		Subject   *v1.Descriptor
	}
	if json.Unmarshal(manifest, &m) != nil || m.Subject == nil || m.Subject.Digest.Validate() != nil {
		return ""
	}
	switch m.MediaType {
	case v1.MediaTypeImageManifest, v1.MediaTypeImageIndex, "":
		return m.Subject.Digest
	}
	return ""
}

// referrerLink records that the manifest referrer refers to the manifest subject, both in one
// repository.
type referrerLink struct {
	repository        string
	subject, referrer digest.Digest
}

func (l referrerLink) folder() string {
	return path.Join(referrersOf(l.repository, l.subject), l.referrer.Algorithm().String(), l.referrer.Encoded())
}

// ReferrerLink returns the driver's path of a referrer link.
func ReferrerLink(repository string, subject, referrer digest.Digest) string {
	return path.Join(referrerLink{repository, subject, referrer}.folder(), "link")
}

func referrersOf(repository string, subject digest.Digest) string {
	return path.Join(RepositoriesPath, repository, ReferrersFolder, subject.Algorithm().String(), subject.Encoded())
}

// ReferrersMark returns the path and the content of a repository's mark, which states that the
// repository has all its referrer links.
func ReferrersMark(repository string) (at, content string) {
	return path.Join(RepositoriesPath, repository, ReferrersFolder, indexedFile), referrersMark
}

// holdReferrer locks a manifest that refers to another one. Until release is called, no other
// caller can change this manifest.
func (s *Store) holdReferrer(l referrerLink) (release func()) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(l.repository + "@" + l.referrer.String())) // a hash never returns an error
	lock := &s.referring[h.Sum32()%uint32(len(s.referring))]
	lock.Lock()
	return lock.Unlock
}

func (s *Store) link(ctx context.Context, l referrerLink) error {
	if err := s.Driver.PutContent(ctx, ReferrerLink(l.repository, l.subject, l.referrer), []byte(l.referrer)); err != nil {
		return fmt.Errorf("record that %s refers to %s: %w", l.referrer, l.subject, err)
	}
	return nil
}

func (s *Store) unlink(ctx context.Context, l referrerLink) error {
	if err := s.Driver.Delete(ctx, l.folder()); err != nil && !IsAbsent(err) {
		return fmt.Errorf("remove the record that %s refers to %s: %w", l.referrer, l.subject, err)
	}
	return nil
}

// Referrers returns the manifests of a repository that may refer to a subject, sorted and without
// duplicates. These are the manifests with a referrer link, and those in the index at the fallback
// tag. Clients that do not use the referrers API write this index.
func (s *Store) Referrers(ctx context.Context, repository string, subject digest.Digest) ([]digest.Digest, error) {
	if err := s.indexReferrers(ctx, repository); err != nil {
		return nil, fmt.Errorf("find the referrers in %s: %w", repository, err)
	}
	found, err := s.listed(ctx, repository, FallbackTag(subject))
	if err != nil {
		return nil, err
	}
	err = s.Driver.Walk(ctx, referrersOf(repository, subject), func(f storagedriver.FileInfo) error {
		if f.IsDir() || path.Base(f.Path()) != "link" {
			return nil
		}
		place := path.Dir(f.Path())
		d := digest.NewDigestFromEncoded(digest.Algorithm(path.Base(path.Dir(place))), path.Base(place))
		if d.Validate() == nil {
			found = append(found, d)
		}
		return nil
	})
	if err != nil && !IsAbsent(err) {
		return nil, err
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// FallbackTag returns the tag at which clients list a manifest's referrers in a registry without
// the referrers API.
func FallbackTag(subject digest.Digest) string {
	const most = 64
	encoded := subject.Encoded()
	return subject.Algorithm().String() + "-" + encoded[:min(len(encoded), most)]
}

// listed returns the manifests in the index of a tag, or none if there is no such index.
func (s *Store) listed(ctx context.Context, repository, tag string) ([]digest.Digest, error) {
	repo, err := s.Repository(ctx, repository)
	if err != nil {
		return nil, err
	}
	manifests, err := repo.Manifests(ctx)
	if err != nil {
		return nil, err
	}
	desc, err := repo.Tags(ctx).Get(ctx, tag)
	if err != nil {
		return nil, unlessAbsent(err)
	}
	index, err := manifests.Get(ctx, desc.Digest)
	if err != nil {
		return nil, unlessAbsent(err)
	}
	var found []digest.Digest
	for _, part := range index.References() {
		if part.Digest.Validate() == nil {
			found = append(found, part.Digest)
		}
	}
	return found, nil
}

func unlessAbsent(err error) error {
	if IsAbsent(err) {
		return nil
	}
	return err
}

// indexReferrers creates the missing referrer links of a repository that has no mark, and then
// writes the mark. An earlier version of the depot may have stored manifests without links.
// Concurrent callers wait until one of them has done this work.
func (s *Store) indexReferrers(ctx context.Context, repository string) error {
	mark, _ := ReferrersMark(repository)
	_, err := s.Driver.Stat(ctx, mark)
	if err == nil || !IsAbsent(err) {
		return err
	}
	_, err, _ = s.indexing.Do(repository, func() (any, error) {
		return nil, s.linkAll(context.WithoutCancel(ctx), repository)
	})
	return err
}

func (s *Store) linkAll(ctx context.Context, repository string) error {
	revisions, err := s.Revisions(ctx, repository)
	if err != nil || len(revisions) == 0 {
		return err // an empty repository gets no mark
	}
	for _, d := range revisions {
		body, err := s.Manifest(ctx, repository, d)
		if IsAbsent(err) {
			continue // deleted meanwhile; or lost, which the scrubber reports
		}
		if err != nil {
			return err
		}
		if subject := SubjectOf(body); subject != "" {
			if err := s.link(ctx, referrerLink{repository, subject, d}); err != nil {
				return err
			}
		}
	}
	mark, content := ReferrersMark(repository)
	return s.Driver.PutContent(ctx, mark, []byte(content))
}

// ReferrerRecord is a link of a referrer: Folder is its folder in the driver.
type ReferrerRecord struct {
	Repository string
	Referrer   digest.Digest
	Folder     string
}

// DropReferrer removes the link of a referrer, unless the repository has the manifest by now.
func (s *Store) DropReferrer(ctx context.Context, r ReferrerRecord) error {
	_, err := s.Kept(ctx, r.Repository, r.Referrer)
	if !IsAbsent(err) {
		return err
	}
	return s.drop(ctx, r.Folder)
}
