package images

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push puts the image at the reference unless it is there already, and tells whether it did.
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

// Exists tells whether the depot holds the reference.
func Exists(ctx context.Context, ref string) bool {
	r, err := name.ParseReference(ref)
	if err != nil {
		return false
	}
	_, err = remote.Head(r, remote.WithContext(ctx))
	return err == nil
}

// Pinned gives the reference by digest of what the tag means now.
func Pinned(ctx context.Context, ref string) (string, error) {
	tag, err := name.ParseReference(ref)
	if err != nil {
		return "", err
	}
	have, err := remote.Head(tag, remote.WithContext(ctx))
	if err != nil {
		return "", fmt.Errorf("look up %s: %w", ref, err)
	}
	return tag.Context().Digest(have.Digest.String()).String(), nil
}
