package artifacts

import (
	"fmt"
	"regexp"

	"github.com/google/go-containerregistry/pkg/name"
)

// Image is a container image under its upstream name.
type Image struct {
	// Ref is registry/repository:tag, as in a pod. As in a pod, docker.io and library/ may be left
	// out.
	Ref string `json:"ref"`
	// Digest is sha256:hex of the manifest or index; empty: any image with the tag is accepted.
	Digest string `json:"digest,omitempty"`
}

// Place names an image in the depot. It does not contain the name of the upstream registry, because
// nodes use the depot as a mirror of all registries.
type Place struct {
	Repository string
	Tag        string // empty if the reference has only a digest
	Digest     string // only if Tag is empty
}

func (p Place) String() string {
	if p.Tag == "" {
		return p.Repository + "@" + p.Digest
	}
	return p.Repository + ":" + p.Tag
}

var (
	digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	// repositoryPattern and tagPattern are the patterns of the OCI distribution specification. They
	// are needed because name.ParseReference also accepts a repository such as a/../b.
	repositoryPattern = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
	tagPattern        = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
)

// Place returns the name of the image in the depot. It returns an error if Ref or Digest is
// malformed.
func (i Image) Place() (Place, error) {
	if i.Digest != "" && !digestPattern.MatchString(i.Digest) {
		return Place{}, fmt.Errorf("image %s: digest %q is not like sha256:<64 hexadecimal digits>", i.Ref, i.Digest)
	}
	ref, err := name.ParseReference(i.Ref)
	if err != nil {
		return Place{}, fmt.Errorf("image %q: %w", i.Ref, err)
	}
	if !repositoryPattern.MatchString(ref.Context().RepositoryStr()) {
		return Place{}, fmt.Errorf("image %q: %q is not a valid repository name", i.Ref, ref.Context().RepositoryStr())
	}
	if tag, ok := ref.(name.Tag); ok {
		if !tagPattern.MatchString(tag.TagStr()) {
			return Place{}, fmt.Errorf("image %q: %q is not a valid tag", i.Ref, tag.TagStr())
		}
		return Place{Repository: tag.RepositoryStr(), Tag: tag.TagStr()}, nil
	}
	if i.Digest != "" && i.Digest != ref.Identifier() {
		return Place{}, fmt.Errorf("image %s: the list also has the digest %s; keep one of them", i.Ref, i.Digest)
	}
	return Place{Repository: ref.Context().RepositoryStr(), Digest: ref.Identifier()}, nil
}

// Wanted returns the digest that the image must have; empty: any.
func (i Image) Wanted() string {
	if place, err := i.Place(); err == nil && place.Digest != "" {
		return place.Digest
	}
	return i.Digest
}

// canonical returns the complete reference, with the registry and the folder library/ that a pod
// may omit.
func (i Image) canonical() string {
	ref, err := name.ParseReference(i.Ref)
	if err != nil {
		return i.Ref
	}
	return ref.Name()
}
