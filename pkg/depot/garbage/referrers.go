package garbage

import (
	"context"
	"path"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// referrers marks every manifest whose subject stays, such as the signature of an image that stays.
// It then does the same for the manifests whose subject is one of these. All of them would
// otherwise be removed, since they have no tag. A manifest whose subject is removed, or was never
// in the repository, stays only if something else needs it.
func (c *collector) referrers(ctx context.Context, repo *repository, all []digest.Digest) error {
	waiting := map[digest.Digest]digest.Digest{}
	for _, d := range all {
		if repo.stay[d] {
			continue
		}
		subject, err := c.subject(ctx, repo.name, d)
		if err != nil {
			return err
		}
		if subject != "" {
			waiting[d] = subject
		}
	}
	for found := true; found; {
		found = false
		for d, subject := range waiting {
			if !repo.stay[subject] {
				continue
			}
			delete(waiting, d)
			found = true
			if err := c.follow(ctx, repo, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// subject returns the digest by which the repository keeps the subject of a manifest. It returns ""
// for a manifest without a subject.
func (c *collector) subject(ctx context.Context, name string, d digest.Digest) (digest.Digest, error) {
	body, err := c.store.Manifest(ctx, name, d)
	if store.IsAbsent(err) {
		return "", nil // the manifest is lost, and refers to nothing any more
	}
	if err != nil {
		return "", err
	}
	subject := store.SubjectOf(body)
	if subject == "" {
		return "", nil
	}
	return c.kept(ctx, name, subject)
}

// kept returns the digest by which a repository keeps a manifest. It returns d unchanged if the
// repository does not have the manifest.
func (c *collector) kept(ctx context.Context, name string, d digest.Digest) (digest.Digest, error) {
	if d.Algorithm() == digest.SHA256 {
		return d, nil
	}
	kept, err := c.store.Kept(ctx, name, d)
	if store.IsAbsent(err) {
		return d, nil
	}
	return kept, err
}

// unlink removes the links of referrers whose manifest does not exist. A crash during a push leaves
// such a link. A push that is under way has such a link too, and pins its manifest.
func (c *collector) unlink(ctx context.Context, name string) error {
	if c.DryRun {
		return nil
	}
	var stale []store.ReferrerRecord
	err := c.store.Driver.Walk(ctx, path.Join(store.RepositoriesPath, name, store.ReferrersFolder), func(f storagedriver.FileInfo) error {
		if f.IsDir() || path.Base(f.Path()) != "link" {
			return nil
		}
		place := path.Dir(f.Path())
		d := digest.NewDigestFromEncoded(digest.Algorithm(path.Base(path.Dir(place))), path.Base(place))
		if d.Validate() != nil {
			return nil // the scrubber reports it
		}
		_, err := c.store.Kept(ctx, name, d)
		if store.IsAbsent(err) {
			stale = append(stale, store.ReferrerRecord{Repository: name, Referrer: d, Folder: place})
			return nil
		}
		return err
	})
	if err != nil && !store.IsAbsent(err) {
		return err
	}
	for _, record := range stale {
		_, err := c.remove(store.KeyOf(record.Referrer), func() error { return c.store.DropReferrer(ctx, record) })
		if err != nil {
			return err
		}
	}
	return nil
}
