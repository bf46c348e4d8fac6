package images

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push pushes the image to the reference, unless the reference already has the same digest. It
// reports whether it pushed. The parameter as contains the credentials for the push. Push reads the
// digest of the reference anonymously.
func Push(ctx context.Context, ref string, img v1.Image, as authn.Authenticator) (pushed bool, err error) {
	tag, err := name.ParseReference(ref)
	if err != nil {
		return false, err
	}
	want, err := img.Digest()
	if err != nil {
		return false, fmt.Errorf("digest of %s: %w", ref, err)
	}
	if have, err := remote.Head(tag, remote.WithContext(ctx)); err == nil && have.Digest == want {
		return false, nil
	}
	if err := remote.Write(tag, img, remote.WithContext(ctx), remote.WithAuth(as)); err != nil {
		return false, fmt.Errorf("push %s: %w", ref, err)
	}
	return true, nil
}

// Exists reports whether the registry has the reference. Any error counts as absence.
func Exists(ctx context.Context, ref string) bool {
	r, err := name.ParseReference(ref)
	if err != nil {
		return false
	}
	_, err = remote.Head(r, remote.WithContext(ctx))
	return err == nil
}

// Pinned returns the reference with the digest that the tag has now.
func Pinned(ctx context.Context, ref string) (string, error) {
	tag, err := name.ParseReference(ref)
	if err != nil {
		return "", err
	}
	have, err := remote.Head(tag, remote.WithContext(ctx))
	if err != nil {
		return "", fmt.Errorf("get digest of %s: %w", ref, err)
	}
	return tag.Context().Digest(have.Digest.String()).String(), nil
}
