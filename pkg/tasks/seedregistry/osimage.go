package seedregistry

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
)

// WithOSImage adds to a list the OS image of a request that is to come from the depot: Metal3 gets it from there, and no playbook knows of it.
func WithOSImage(list artifacts.List, request contract.Request) artifacts.List {
	if path := pathOfOSImage(request); path != "" {
		list.Files = append(slices.Clone(list.Files), artifacts.File{Path: path})
	}
	return list
}

// pathOfOSImage is where below /files of the depot the OS image is; empty: not in the depot. Ironic may reach the depot by another door or another
// address than the nodes, so of an uploaded image the address says nothing.
func pathOfOSImage(request contract.Request) string {
	if request.OSImage == nil || request.DepotURL == "" {
		return ""
	}
	image, err := url.Parse(request.OSImage.URL)
	depot, failed := url.Parse(request.DepotURL)
	if err != nil || failed != nil {
		return ""
	}
	if request.OSImage.Uploaded {
		_, path, _ := strings.Cut(image.Path, "/files/")
		return path
	}
	if path, ok := strings.CutPrefix(image.Path, strings.TrimRight(depot.Path, "/")+"/files/"); ok && image.Hostname() == depot.Hostname() {
		return path
	}
	return ""
}

// UploadedImage is the path below /files of the OS image of a request if it was uploaded, else empty. Metal3 is told its digest, which the task
// reads at the depot's own door: a checksum file that comes the same way as the image, over plain HTTP, proves nothing.
func UploadedImage(request contract.Request) string {
	if request.OSImage == nil || !request.OSImage.Uploaded {
		return ""
	}
	return pathOfOSImage(request)
}

func imageDigest(ctx context.Context, path string, depot *client.Depot) (string, error) {
	if path == "" {
		return "", nil
	}
	state, there, err := depot.FileState(ctx, path, true)
	if err == nil && !there {
		err = fmt.Errorf("OS image %s was in the depot a moment ago: start again", path)
	}
	return state.SHA256, err
}
