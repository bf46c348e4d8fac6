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

// image is one image to be in the registry: gzipped layers, lowest first, and how it runs.
type image struct {
	name   string // repository:tag
	layers []string
	config v1.Config
}

// push puts the image into the registry unless exactly it is there: the stamp says which digest these layers gave, and
// the registry is asked whether it still has that one under the tag.
func (s *Site) push(ctx context.Context, i image) error {
	start := time.Now()
	ref, err := name.ParseReference(cmp.Or(s.PushTo, s.Registry)+"/"+i.name, name.Insecure)
	if err != nil {
		return err
	}
	key, err := i.key()
	if err != nil {
		return err
	}
	stampName := "image " + i.name
	if known, digest, _ := strings.Cut(s.stamps().Value(stampName), " "); known == key {
		there, err := remote.Head(ref, remote.WithContext(ctx))
		if err == nil && there.Digest.String() == digest {
			return nil
		}
	}
	built, err := i.build()
	if err != nil {
		return fmt.Errorf("build image %s: %w", i.name, err)
	}
	login, err := s.login()
	if err != nil {
		return err
	}
	if err := remote.Write(ref, built, remote.WithContext(ctx), remote.WithAuth(login)); err != nil {
		return fmt.Errorf("push image %s: %w; does the depot run (machine status)?", ref, err)
	}
	digest, err := built.Digest()
	if err != nil {
		return err
	}
	s.report(stampName, start)
	return s.stamps().Set(stampName, key+" "+digest.String())
}

// login is what the depot asks for a write at its door for this machine. It makes the file when it starts.
func (s *Site) login() (authn.Authenticator, error) {
	if s.PushTo == "" {
		return authn.Anonymous, nil
	}
	token, err := os.ReadFile(filepath.Join(s.State, "depot", "local-token"))
	if err != nil {
		return nil, fmt.Errorf("the depot's local token: %w; does the depot run (machine status)?", err)
	}
	return &authn.Basic{Username: "lab", Password: strings.TrimSpace(string(token))}, nil
}

// expect checks for images that the bootstrap machine puts into the depot, for itself and for us.
func (s *Site) expect(names ...string) error {
	for _, n := range names {
		ref, err := name.ParseReference(s.Registry+"/"+n, name.Insecure)
		if err != nil {
			return err
		}
		if _, err := remote.Head(ref); err != nil {
			return fmt.Errorf("image %s is not in the depot (%w): bring up the bootstrap machine first (make base)", n, err)
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
		parts = append(parts, stamp.Seen(l))
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
