package images

import (
	"compress/gzip"
	"context"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// folder is where ko puts a program: manifests name programs by it.
const folder = "/ko-app"

// Pull gives the image that a tag means now; its layers stay where they are until someone reads them.
func Pull(ctx context.Context, ref string) (v1.Image, error) {
	tag, err := name.ParseReference(ref)
	if err != nil {
		return nil, err
	}
	img, err := remote.Image(tag, remote.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("pull %s: %w", ref, err)
	}
	return img, nil
}

// Program puts a program on a base as ko does: at /ko-app/NAME, which is also what the image starts.
func Program(base v1.Image, binary, name string) (v1.Image, error) {
	p, err := program(binary, strings.TrimPrefix(folder, "/")+"/"+name)
	if err != nil {
		return nil, err
	}
	media, err := base.MediaType()
	if err != nil {
		return nil, fmt.Errorf("image of %s: %w", name, err)
	}
	// The images stay on this machine and are made anew often: time counts more than a fifth of their size.
	options := []tarball.LayerOption{tarball.WithCompressionLevel(gzip.BestSpeed), tarball.WithCompressedCaching}
	if media == types.OCIManifestSchema1 {
		options = append(options, tarball.WithMediaType(types.OCILayer))
	}
	l, err := layer([]entry{p}, options...)
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(base, l)
	if err != nil {
		return nil, fmt.Errorf("image of %s: %w", name, err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("image of %s: %w", name, err)
	}
	file = file.DeepCopy()
	file.Config.Entrypoint, file.Config.Cmd = []string{folder + "/" + name}, nil
	file.Config.Env = withPath(file.Config.Env, folder)
	return mutate.ConfigFile(img, file)
}

// withPath adds a folder to the PATH of an environment.
func withPath(env []string, dir string) []string {
	var all []string
	path := "PATH=" + dir
	for _, v := range env {
		if rest, ok := strings.CutPrefix(v, "PATH="); ok {
			path = "PATH=" + rest + ":" + dir
			continue
		}
		all = append(all, v)
	}
	return append(all, path)
}
