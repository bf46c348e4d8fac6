package artifacts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/akraino-icn/bpa/test/lab/stamp"
)

// image describes an image to push.
type image struct {
	name   string   // repository:tag
	layers []string // paths of gzipped layers, lowest first
	config v1.Config
}

// push builds the image and pushes it, unless the registry already has it. The stamp of the image
// contains the key and the digest of its last build. The registry has the image if the key did not
// change and the tag in the registry has this digest.
func (b *Builder) push(ctx context.Context, i image) error {
	start := time.Now()
	ref, err := name.ParseReference(cmp.Or(b.PushTo, b.Registry)+"/"+i.name, name.Insecure)
	if err != nil {
		return err
	}
	key, err := i.key()
	if err != nil {
		return err
	}
	stampName := "image " + i.name
	if stamped, digest, _ := strings.Cut(b.stamps().Value(stampName), " "); stamped == key {
		present, err := remote.Head(ref, remote.WithContext(ctx))
		if err == nil && present.Digest.String() == digest {
			return nil
		}
	}
	built, err := i.build()
	if err != nil {
		return fmt.Errorf("build image %s: %w", i.name, err)
	}
	login, err := b.login()
	if err != nil {
		return err
	}
	if err := remote.Write(ref, built, remote.WithContext(ctx), remote.WithAuth(login)); err != nil {
		return fmt.Errorf("push image %s: %w: check with `machine status` that the depot is running", ref, err)
	}
	digest, err := built.Digest()
	if err != nil {
		return err
	}
	b.report(stampName, start)
	return b.stamps().Set(stampName, key+" "+digest.String())
}

// login returns the credentials for PushTo: the token of the depot's local listener, which the
// depot creates when it starts. Without PushTo, pushes are anonymous.
func (b *Builder) login() (authn.Authenticator, error) {
	if b.PushTo == "" {
		return authn.Anonymous, nil
	}
	token, err := os.ReadFile(filepath.Join(b.State, "depot", "local-token"))
	if err != nil {
		return nil, fmt.Errorf("read the depot's local token: %w: check with `machine status` that the depot is running", err)
	}
	return &authn.Basic{Username: "lab", Password: strings.TrimSpace(string(token))}, nil
}

// requireImages returns an error if the depot lacks one of these images. `machine up` pushes them.
func (b *Builder) requireImages(names ...string) error {
	for _, n := range names {
		ref, err := name.ParseReference(b.Registry+"/"+n, name.Insecure)
		if err != nil {
			return err
		}
		if _, err := remote.Head(ref); err != nil {
			return fmt.Errorf("image %s is not in the depot (%w): set up the bootstrap machine first (make base)", n, err)
		}
	}
	return nil
}

func (i image) key() (string, error) {
	config, err := json.Marshal(i.config)
	if err != nil {
		return "", err
	}
	parts := []string{i.name, string(config)}
	for _, l := range i.layers {
		parts = append(parts, stamp.FileKey(l))
	}
	return stamp.Key(parts...), nil
}

func (i image) build() (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.ConfigFile(img, &v1.ConfigFile{OS: "linux", Architecture: "amd64", Config: i.config})
	if err != nil {
		return nil, err
	}
	for _, path := range i.layers {
		layer, err := tarball.LayerFromFile(path, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, fmt.Errorf("read layer %s: %w", path, err)
		}
		if img, err = mutate.AppendLayers(img, layer); err != nil {
			return nil, err
		}
	}
	return img, nil
}
