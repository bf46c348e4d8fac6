package archive

import (
	"path"
	"slices"
	"strings"

	"github.com/distribution/reference"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// ref is the reference by which an image is pulled. It has no registry, since nodes ask the depot
// in place of every registry.
type ref struct{ repository, tag string }

func (r ref) String() string { return r.repository + ":" + r.tag }

// parseRef parses a name as docker does: busybox means library/busybox:latest.
func parseRef(name string) (ref, error) {
	named, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return ref{}, refuse("image name %q: %v", name, err)
	}
	tagged, ok := reference.TagNameOnly(reference.TrimNamed(named)).(reference.Tagged)
	if given, has := named.(reference.Tagged); has {
		tagged, ok = given, true
	}
	r := ref{repository: reference.Path(named)}
	if !ok || strings.HasPrefix(r.repository+"/", protocol.ReservedPrefix) {
		return ref{}, refuse("image name %q: names below %s are the depot's own", name, protocol.ReservedPrefix)
	}
	r.tag = tagged.Tag()
	return r, nil
}

// refsOf returns the references of an image in a layout. It uses the first of these sources that
// exists: annotationContainerd, a reference annotation with a full name, the names in docker's
// manifest.json, and a reference annotation with only a tag. In the last case, the image gets its
// name from the archive's own name.
func refsOf(root v1.Descriptor, archive string, c contents, i image) ([]ref, error) {
	if full := root.Annotations[annotationContainerd]; full != "" {
		r, err := parseRef(full)
		return []ref{r}, err
	}
	given := root.Annotations[v1.AnnotationRefName]
	if strings.ContainsAny(given, ":/") {
		r, err := parseRef(given)
		return []ref{r}, err
	}
	if names := savedNames(c, i); len(names) > 0 {
		var refs []ref
		for _, name := range names {
			r, err := parseRef(name)
			if err != nil {
				return nil, err
			}
			refs = append(refs, r)
		}
		return refs, nil
	}
	if given == "" {
		return nil, refuse("image %s has no name: set the annotation %s in its index.json", root.Digest, v1.AnnotationRefName)
	}
	r, err := parseRef(baseName(archive) + ":" + given)
	if err == nil {
		r.repository = strings.TrimPrefix(r.repository, "library/")
	}
	return []ref{r}, err
}

// savedNames returns the names of the image in docker's manifest.json, which identifies the image
// by its config.
func savedNames(c contents, i image) []string {
	for _, s := range c.saved {
		for _, m := range i.manifests {
			if len(m.blobs) > 0 && path.Clean(s.Config) == blobFile(m.blobs[0].Digest) {
				return slices.Clone(s.RepoTags)
			}
		}
	}
	return nil
}

func baseName(archive string) string {
	name := strings.ToLower(archive)
	for _, ending := range []string{".gz", ".zst", ".tgz", ".tar", ".oci"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}
