package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// Somewhere is the registry in the names of images of which only their place in a depot is known.
const Somewhere = "depot.local"

// maxListed bounds how many artifacts a depot may say it has.
const maxListed = 100_000

// maxFolder bounds the list of one folder, in bytes: so many of the longest names.
const maxFolder = maxListed * 256

// Everything lists what is in the depot: every tag, every file with its checksum, and as files what was uploaded at /v1. Of damaged are uploads that
// the depot cannot read any more, in words: they are not on the list.
func (d *Depot) Everything(ctx context.Context) (all artifacts.List, damaged []string, err error) {
	repositories, err := remote.Catalog(ctx, d.registry, d.options...)
	if err != nil {
		return all, nil, d.explain(fmt.Errorf("list the repositories of %s: %w", d.base, err))
	}
	for _, repository := range repositories {
		if strings.HasPrefix(repository, protocol.ReservedPrefix) {
			continue
		}
		tags, err := d.puller.List(ctx, d.registry.Repo(repository))
		if isNotFound(err) {
			continue // a repository that nothing is in any more
		}
		if err != nil {
			return all, nil, d.explain(fmt.Errorf("list the tags of %s: %w", repository, err))
		}
		for _, tag := range tags {
			digest, err := d.ImageDigest(ctx, artifacts.Place{Repository: repository, Tag: tag})
			if err != nil {
				return all, nil, err
			}
			if digest != "" {
				all.Images = append(all.Images, artifacts.Image{Ref: Somewhere + "/" + repository + ":" + tag, Digest: digest})
			}
		}
	}
	if damaged, err = d.uploads(ctx, &all); err != nil {
		return all, nil, fmt.Errorf("list the uploads of %s: %w", d.base, err)
	}
	if err := d.folder(ctx, "", &all); err != nil {
		return all, nil, err
	}
	all, err = artifacts.Merge(all)
	return all, damaged, err
}

// uploads lists what came in at /v1, by the paths under which /files has it too.
func (d *Depot) uploads(ctx context.Context, all *artifacts.List) (damaged []string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base.String()+protocol.Base, nil)
	if err != nil {
		return nil, err
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if err := d.check(resp, http.StatusOK); err != nil {
		return nil, err
	}
	var listing protocol.Listing
	if err := json.NewDecoder(io.LimitReader(resp.Body, 8*artifacts.MaxList)).Decode(&listing); err != nil {
		return nil, err
	}
	for _, r := range listing.Images {
		if r.Complete() {
			all.Files = append(all.Files, artifacts.File{Path: r.Ref().FilePath(), SHA256: r.SHA256, Size: r.ImageLength})
		}
	}
	for _, r := range listing.Damaged {
		damaged = append(damaged, fmt.Sprintf("%s: %s", r.Ref().FilePath(), r.Detail))
	}
	return damaged, nil
}

// folder lists a folder of files: one name a line, folders with a slash at the end.
func (d *Depot) folder(ctx context.Context, dir string, all *artifacts.List) error {
	resp, err := d.file(ctx, http.MethodGet, dir, nil, nil)
	if err != nil {
		return fmt.Errorf("list the files in %q: %w", dir, err)
	}
	defer resp.Body.Close()
	if err := d.check(resp, http.StatusOK); err != nil {
		return fmt.Errorf("list the files in %q: %w", dir, err)
	}
	rest := &io.LimitedReader{R: resp.Body, N: maxFolder}
	lines := bufio.NewScanner(rest)
	for lines.Scan() {
		at := path.Join(dir, lines.Text())
		if artifacts.CheckPath(at) != nil {
			continue // what no list can name, such as a file that is being written
		}
		if all.Size() > maxListed {
			return fmt.Errorf("the depot %s has more than %d artifacts: name those that are wanted", d.base, maxListed)
		}
		if strings.HasSuffix(lines.Text(), "/") {
			if err := d.folder(ctx, at, all); err != nil {
				return err
			}
			continue
		}
		state, there, err := d.FileState(ctx, at, true)
		if err != nil {
			return err
		}
		if there {
			all.Files = append(all.Files, artifacts.File{Path: at, SHA256: state.SHA256, Size: state.Size})
		}
	}
	if rest.N <= 0 {
		return fmt.Errorf("the depot %s lists more than %d bytes for the folder %q: name what is wanted", d.base, maxFolder, dir)
	}
	return lines.Err()
}
