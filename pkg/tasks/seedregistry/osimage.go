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

// WithOSImage adds the request's OS image to a list if Metal3 downloads the image from the depot.
// No playbook lists the OS image.
func WithOSImage(list artifacts.List, request contract.Request) artifacts.List {
	if path := pathOfOSImage(request); path != "" {
		list.Files = append(slices.Clone(list.Files), artifacts.File{Path: path})
	}
	return list
}

// pathOfOSImage returns the path of the OS image below /files of the depot. It returns an empty
// string if the image does not come from the depot. For an uploaded image it ignores the host in
// the URL, because Ironic may use another listener or another address of the depot than the nodes.
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

// UploadedImage returns the path below /files of the OS image if the image was uploaded to the
// depot, else an empty string. The task reads the digest of an uploaded image over its own
// connection to the depot, and Metal3 verifies the image with this digest. Metal3 could also fetch
// a checksum file, but that would prove nothing: over plain HTTP, an attacker can change both
// files.
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
		err = fmt.Errorf("OS image %s was removed from the depot while this task ran: upload it again", path)
	}
	return state.SHA256, err
}
