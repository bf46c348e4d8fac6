package scrub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/distribution/distribution/v3"
	_ "github.com/distribution/distribution/v3/manifest/manifestlist" // registers the manifest formats
	_ "github.com/distribution/distribution/v3/manifest/ocischema"
	_ "github.com/distribution/distribution/v3/manifest/schema2"
	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// repositories checks the links of every repository, and the blobs that its manifests need.
func (r *scrubber) repositories(ctx context.Context) error {
	names := map[string]bool{}
	err := walk(ctx, r.store.Driver, store.RepositoriesPath, func(at string, _ int64) error {
		repository, inside, ok := split(at)
		if !ok {
			return nil
		}
		if strings.HasPrefix(inside, "_uploads/") {
			return nil // not content yet
		}
		names[repository] = true
		switch mark, _ := store.ReferrersMark(repository); {
		case path.Base(at) == "link":
			return r.link(ctx, repository, inside, at)
		case at == mark:
			return r.mark(ctx, repository)
		}
		return nil
	})
	if err != nil {
		return err
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		if err := r.repository(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// split splits a path into a repository and the path inside it.
func split(at string) (repository, inside string, ok bool) {
	rest, ok := strings.CutPrefix(at, store.RepositoriesPath+"/")
	for _, part := range []string{"/_layers/", "/_manifests/", "/" + store.ReferrersFolder + "/", "/_uploads/"} {
		if i := strings.Index(rest, part); i > 0 {
			return rest[:i], rest[i+1:], ok
		}
	}
	return "", "", false
}

// link checks that the digest in a link matches the link's path. The link of a tag may point to any
// manifest; tags checks that this manifest exists.
func (r *scrubber) link(ctx context.Context, repository, inside, at string) error {
	r.report.Links++
	content, err := r.store.Driver.GetContent(ctx, at)
	if store.IsAbsent(err) {
		return nil // deleted since it was listed
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", at, err)
	}
	d, err := digest.Parse(string(content))
	place := path.Dir(at)
	isTag := tagOf(inside) != "" && path.Base(place) == "current"
	if err == nil && !isTag {
		err = r.checkTarget(ctx, strings.HasPrefix(inside, "_manifests/"), d, digest.NewDigestFromEncoded(digest.Algorithm(path.Base(path.Dir(place))), path.Base(place)))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		r.links = append(r.links, Damage{What: at, Why: fmt.Sprintf("it points to %q: %v", content, err), Hurts: []string{nameOf(repository, tagOf(inside))}})
	}
	return nil
}

// checkTarget checks that the two digests of a link name the same content. The digest in the link
// is to, and the digest in the link's path is place. If place is not a sha256 and differs from to,
// checkTarget reads the content and compares its hash with place.
func (r *scrubber) checkTarget(ctx context.Context, isManifest bool, to, place digest.Digest) error {
	if place.Algorithm() == digest.SHA256 || to == place {
		if to != place {
			return errors.New("its path names another digest")
		}
		return nil
	}
	if err := place.Validate(); err != nil {
		return err
	}
	f, err := r.store.Driver.Reader(ctx, store.BlobPath(to), 0)
	if store.IsAbsent(err) && !isManifest {
		return nil // the link of a layer may outlive the layer; if a manifest needs the layer, the method need reports it as missing
	}
	if err != nil {
		return err
	}
	defer f.Close()
	verifier := place.Verifier()
	if _, err := io.Copy(verifier, f); err != nil {
		return err
	}
	if !verifier.Verified() {
		return errors.New("the content there does not match the digest in its path")
	}
	return nil
}

func tagOf(inside string) string {
	rest, ok := strings.CutPrefix(inside, "_manifests/tags/")
	if !ok {
		return ""
	}
	tag, _, _ := strings.Cut(rest, "/")
	return tag
}

// nameOf describes a repository and tag for users.
func nameOf(repository, tag string) string {
	if ref, ok := protocol.ParseRepository(repository); ok {
		return "artifact " + ref.String()
	}
	if tag == "" {
		return "image " + repository
	}
	return "image " + repository + ":" + tag
}

// repository checks each manifest and the blobs that it needs.
func (r *scrubber) repository(ctx context.Context, name string) error {
	repo, err := r.store.Repository(ctx, name)
	if err != nil {
		return err
	}
	tags, err := r.tags(ctx, name, repo)
	if err != nil {
		return err
	}
	manifests, err := repo.Manifests(ctx)
	if err != nil {
		return err
	}
	revisions, err := r.store.Driver.List(ctx, path.Join(store.RepositoriesPath, name, "_manifests/revisions/sha256"))
	if err != nil && !store.IsAbsent(err) {
		return err
	}
	for _, revision := range revisions {
		d := digest.NewDigestFromEncoded(digest.SHA256, path.Base(revision))
		if _, err := r.store.Driver.Stat(ctx, path.Join(revision, "link")); store.IsAbsent(err) {
			continue // deleted
		}
		r.manifest(ctx, repo, tags[d], manifests, d)
	}
	return nil
}

// tags maps manifests to the tags that point to them, and reports tags whose manifest does not
// exist.
func (r *scrubber) tags(ctx context.Context, name string, repo distribution.Repository) (map[digest.Digest]string, error) {
	found := map[digest.Digest]string{}
	all, err := repo.Tags(ctx).All(ctx)
	if err != nil && !store.IsAbsent(err) {
		return nil, err
	}
	for _, tag := range all {
		at := path.Join(store.RepositoriesPath, name, "_manifests/tags", tag, "current/link")
		content, err := r.store.Driver.GetContent(ctx, at)
		if store.IsAbsent(err) {
			continue // the removal of this tag was interrupted: clients do not see the tag
		}
		if err != nil {
			return nil, err
		}
		d := digest.Digest(content)
		found[d] = tag
		if d.Validate() != nil {
			continue // reported as a link
		}
		if _, err := r.store.Driver.Stat(ctx, path.Join(store.RepositoriesPath, name, "_manifests/revisions/sha256", d.Encoded(), "link")); store.IsAbsent(err) && r.stillIs(ctx, at, content) {
			r.links = append(r.links, Damage{What: at, Why: "it points to manifest " + d.String() + ", which the repository does not have", Hurts: []string{nameOf(name, tag)}})
		}
	}
	return found, nil
}

// stillIs reports whether a link has the content that was read: a client may have removed or moved a tag since.
func (r *scrubber) stillIs(ctx context.Context, at string, content []byte) bool {
	now, err := r.store.Driver.GetContent(ctx, at)
	return err == nil && bytes.Equal(now, content)
}

func (r *scrubber) manifest(ctx context.Context, repo distribution.Repository, tag string, manifests distribution.ManifestService, d digest.Digest) {
	r.report.Manifests++
	name := repo.Named().Name()
	label := nameOf(name, tag)
	if tag == "" && strings.HasPrefix(label, "image ") {
		label += "@" + d.String()
	}
	r.need(ctx, d, label, manifest{name, d})
	if _, bad := r.bad[d]; bad {
		return // a damaged manifest may name wrong blobs
	}
	m, err := manifests.Get(ctx, d)
	if there, existsErr := manifests.Exists(ctx, d); existsErr == nil && !there {
		return // deleted since it was listed
	}
	if err != nil {
		r.bad[d] = &Damage{What: d.String(), Why: "it is not a manifest: " + err.Error(), Hurts: []string{label}, manifests: []manifest{{name, d}}}
		return
	}
	r.referrer(ctx, name, d, m)
	if isIndex(m) {
		return // an index may list platforms that were never pushed
	}
	for _, part := range m.References() {
		if len(part.URLs) == 0 {
			r.need(ctx, keptBy(ctx, repo, part.Digest), label, manifest{name, d})
		}
	}
}

// keptBy returns the digest by which the store keeps a blob. A manifest may name the blob by
// another digest.
func keptBy(ctx context.Context, repo distribution.Repository, d digest.Digest) digest.Digest {
	if d.Algorithm() == digest.SHA256 {
		return d
	}
	if kept, err := repo.Blobs(ctx).Stat(ctx, d); err == nil {
		return kept.Digest
	}
	return d // the method need then reports this blob as missing
}

func isIndex(m distribution.Manifest) bool {
	_, body, err := m.Payload()
	if err != nil {
		return false
	}
	var index struct{ Manifests []json.RawMessage }
	return json.Unmarshal(body, &index) == nil && len(index.Manifests) > 0
}

// missing is the reason for a blob that is not in the store.
const missing = "it is missing"

// forgetRemoved drops the blobs that only looked lost, because a running depot has deleted the
// manifests that need them, and then the blobs, while the store was read.
func (r *scrubber) forgetRemoved(ctx context.Context) error {
	for d, damage := range r.bad {
		if damage.Why != missing {
			continue
		}
		needed := false
		for _, m := range damage.manifests {
			_, err := r.store.Kept(ctx, m.repository, m.digest)
			if err != nil && !store.IsAbsent(err) {
				return err
			}
			needed = needed || err == nil
		}
		if !needed {
			delete(r.bad, d)
		}
	}
	return nil
}

// need checks the blob d, which an artifact or image needs. The name of the artifact or image is
// label, and its manifest is by. If the blob is damaged or missing, need adds both to the damage.
func (r *scrubber) need(ctx context.Context, d digest.Digest, label string, by manifest) {
	damage, bad := r.bad[d]
	if !bad {
		_, err := r.store.Blob(ctx, d)
		if err == nil {
			return
		}
		why := missing
		if !store.IsAbsent(err) {
			why = "it cannot be found: " + err.Error()
		}
		damage = &Damage{What: d.String(), Why: why}
		r.bad[d] = damage
	}
	if !slices.Contains(damage.Hurts, label) {
		damage.Hurts = append(damage.Hurts, label)
	}
	if !slices.Contains(damage.manifests, by) {
		damage.manifests = append(damage.manifests, by)
	}
}
