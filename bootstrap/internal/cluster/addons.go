package cluster

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/bootstrap/internal/config"
	"github.com/akraino-icn/bpa/bootstrap/internal/images"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/manifests"
)

// The machine builds these images of the depot itself. Their repository names are those of the upstream images,
// so that application clusters find them in the depot too.
const (
	StaticImage  = "base/static:latest"
	CoreDNSImage = "coredns/coredns:v1.14.7"
	AnsibleImage = "base/ansible:latest" // `lab artifacts` builds it; Deploy needs it
)

const certificates = "/etc/ssl/certs/ca-certificates.crt"

// PushBaseImages pushes base images to the depot: those that pods use, and those that other images
// are built on. It returns the number of images that the depot did not have yet.
func (c Cluster) PushBaseImages(ctx context.Context) (pushed int, err error) {
	certs, err := os.ReadFile(certificates)
	if err != nil {
		return 0, fmt.Errorf("read trusted CA certificates (package ca-certificates): %w", err)
	}
	login, err := c.login()
	if err != nil {
		return 0, err
	}
	for _, i := range []struct {
		image string
		make  func() (v1.Image, error)
	}{
		{StaticImage, func() (v1.Image, error) { return images.Static(certs, runtime.GOARCH) }},
		{config.PauseImage, func() (v1.Image, error) { return images.Pause(c.Layout.Bin("pause"), runtime.GOARCH) }},
		{CoreDNSImage, func() (v1.Image, error) { return images.CoreDNS(c.Layout.Bin("coredns"), certs, runtime.GOARCH) }},
	} {
		img, err := i.make()
		if err != nil {
			return pushed, err
		}
		fresh, err := images.Push(ctx, layout.Push(i.image), img, login)
		if err != nil {
			return pushed, err
		}
		if fresh {
			pushed++
		}
	}
	return pushed, nil
}

// login returns the credentials for the depot's local listener, and writes them to the Docker
// configuration that ko uses.
func (c Cluster) login() (*authn.Basic, error) {
	login, err := images.Login(c.Layout.DepotToken())
	if err != nil {
		return nil, err
	}
	return login, images.WriteLogin(c.Layout.DockerConfig(), layout.DepotLocal, login)
}

// InstallAddons applies DNS, the Metal3 CRDs and the depot's ClusterRoleBinding, and reports
// whether it changed anything. It does not change Metal3 CRDs that belong to another installation.
// kept lists these CRDs, each with the reason in parentheses.
func (c Cluster) InstallAddons(ctx context.Context) (changed bool, kept []string, err error) {
	image, err := images.Pinned(ctx, c.Layout.Pull(CoreDNSImage))
	if err != nil {
		return false, nil, err
	}
	filled := strings.NewReplacer("image: IMAGE", "image: "+image, "clusterIP: ADDRESS", "clusterIP: "+c.Layout.Net().DNSIP(), "SUM", sum(manifests.CoreDNS)).Replace(string(manifests.CoreDNS))
	dns, err := c.Apply(ctx, "coredns", []byte(filled))
	if err != nil {
		return false, nil, err
	}
	metal3, kept, err := c.installMetal3(ctx)
	if err != nil {
		return false, nil, err
	}
	binding, err := c.Apply(ctx, "depot-rolebinding", manifests.DepotRoleBinding)
	if err != nil {
		return false, nil, err
	}
	return dns || metal3 || binding, kept, c.AwaitRollout(ctx, "kube-system")
}

// key returns a hash of the list of parts. It hashes the length of each part too, because two lists
// can have the same concatenation.
func key(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s\n", len(p), p)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
