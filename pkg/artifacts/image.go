package artifacts

import (
	"fmt"
	"regexp"

	"github.com/google/go-containerregistry/pkg/name"
)

// Image is a container image under its upstream name.
type Image struct {
	// Ref is registry/repository:tag, as in a pod; as there, docker.io and library/ may be left out.
	Ref string `json:"ref"`
	// Digest is sha256:hex of the manifest or index; empty: whatever has the tag.
	Digest string `json:"digest,omitempty"`
}

// Place is where the depot keeps an image. Nodes ask the depot in place of the registry, so the registry's name is not in it.
type Place struct {
	Repository string
	Tag        string // empty for an image that is named by its digest alone
	Digest     string // only where Tag is empty
}

func (p Place) String() string {
	if p.Tag == "" {
		return p.Repository + "@" + p.Digest
	}
	return p.Repository + ":" + p.Tag
}

var (
	digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	// Those of the OCI distribution specification. The parser below takes a repository such as a/../b too.
	repositoryPattern = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
	tagPattern        = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
)

// Place is where the depot keeps the image. It is an error if Ref or Digest are not what they should be.
func (i Image) Place() (Place, error) {
	if i.Digest != "" && !digestPattern.MatchString(i.Digest) {
		return Place{}, fmt.Errorf("image %s: digest %q is not like sha256:<64 hexadecimal digits>", i.Ref, i.Digest)
	}
	ref, err := name.ParseReference(i.Ref)
	if err != nil {
		return Place{}, fmt.Errorf("image %q: %w", i.Ref, err)
	}
	if !repositoryPattern.MatchString(ref.Context().RepositoryStr()) {
		return Place{}, fmt.Errorf("image %q: %q is no name of a repository", i.Ref, ref.Context().RepositoryStr())
	}
	if tag, ok := ref.(name.Tag); ok {
		if !tagPattern.MatchString(tag.TagStr()) {
			return Place{}, fmt.Errorf("image %q: %q is no tag", i.Ref, tag.TagStr())
		}
		return Place{Repository: tag.RepositoryStr(), Tag: tag.TagStr()}, nil
	}
	if i.Digest != "" && i.Digest != ref.Identifier() {
		return Place{}, fmt.Errorf("image %s is wanted as %s too", i.Ref, i.Digest)
	}
	return Place{Repository: ref.Context().RepositoryStr(), Digest: ref.Identifier()}, nil
}

// Wanted is the digest that the image must have, or empty.
func (i Image) Wanted() string {
	if place, err := i.Place(); err == nil && place.Digest != "" {
		return place.Digest
	}
	return i.Digest
}

// canonical is the reference with everything that may be left out.
func (i Image) canonical() string {
	ref, err := name.ParseReference(i.Ref)
	if err != nil {
		return i.Ref
	}
	return ref.Name()
}
