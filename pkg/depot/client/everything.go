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

// Somewhere is the registry in the references of images whose original registry is not known.
const Somewhere = "depot.local"

// maxListed limits how many artifacts a depot may list.
const maxListed = 100_000

// maxFolder limits the list of one folder, in bytes: maxListed names of the greatest length.
const maxFolder = maxListed * 256

// Everything lists the content of the depot: every tag, every file with its checksum, and the
// artifacts of /v1 as files. Artifacts that the depot cannot read are not in the list: damaged has
// a description of each of them.
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
			continue // the repository has become empty
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

// uploads adds the complete artifacts of /v1 to the list, with their paths below /files, and
// returns a description of each damaged one.
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

// folder adds the files of a folder and its subfolders to the list. The depot sends one name per
// line; names of folders end with a slash.
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
			continue // not allowed in a list, such as the path of a file that is being written
		}
		if all.Size() > maxListed {
			return fmt.Errorf("the depot %s has more than %d artifacts: name the artifacts that you need", d.base, maxListed)
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
		return fmt.Errorf("the depot %s lists more than %d bytes for the folder %q: name the artifacts that you need", d.base, maxFolder, dir)
	}
	return lines.Err()
}
