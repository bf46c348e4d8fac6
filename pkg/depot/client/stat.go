package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	registry "github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"golang.org/x/sync/errgroup"

	"github.com/akraino-icn/bpa/pkg/artifacts"
)

// maxQueries is the number of parallel requests.
const maxQueries = 16

// Stat returns which images, files and packages of the list the depot has, with their digests.
func (d *Depot) Stat(ctx context.Context, list artifacts.List) (artifacts.Have, error) {
	have := artifacts.Have{Images: map[artifacts.Place]string{}, Files: map[string]artifacts.FileState{}, Packages: map[string]*artifacts.PackageIndex{}}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxQueries)
	for _, image := range list.Images {
		g.Go(func() error {
			place, err := image.Place()
			if err != nil {
				return err
			}
			digest, err := d.ImageDigest(ctx, place)
			if err != nil || digest == "" {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			have.Images[place] = digest
			return nil
		})
	}
	for _, file := range list.Files {
		g.Go(func() error {
			state, there, err := d.FileState(ctx, file.Path, file.SHA256 != "")
			if err != nil || !there {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			have.Files[file.Path] = state
			return nil
		})
	}
	for _, system := range list.Systems() {
		g.Go(func() error {
			index, err := d.packages(ctx, system)
			if err != nil || index == nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			have.Packages[system] = index
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return artifacts.Have{}, fmt.Errorf("query the content of depot %s: %w", d.base, err)
	}
	return have, nil
}

// packages returns the index of the depot's package source for an operating system; nil if there is
// none.
func (d *Depot) packages(ctx context.Context, system string) (*artifacts.PackageIndex, error) {
	path := artifacts.IndexPath(system)
	if _, there, err := d.FileState(ctx, path, false); err != nil || !there {
		return nil, err
	}
	body, _, err := d.GetFile(ctx, path)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	found, err := artifacts.ParsePackages(body)
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", path, err)
	}
	return found, nil
}

// ImageDigest returns the digest of the manifest or index that place names; empty if there is none.
func (d *Depot) ImageDigest(ctx context.Context, place artifacts.Place) (string, error) {
	desc, err := d.Describe(ctx, place)
	if err != nil || desc == nil {
		return "", err
	}
	return desc.Digest.String(), nil
}

// Describe returns the descriptor of the manifest or index that place names; nil if there is none.
func (d *Depot) Describe(ctx context.Context, place artifacts.Place) (*v1.Descriptor, error) {
	desc, err := d.puller.Head(ctx, d.reference(place))
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, d.explain(fmt.Errorf("image %s: %w", place, err))
	}
	return desc, nil
}

func isNotFound(err error) bool {
	var answer *registry.Error
	return errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound
}
