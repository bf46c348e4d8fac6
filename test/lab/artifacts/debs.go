package artifacts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/bundle/debian"
	"github.com/akraino-icn/bpa/test/lab/osimage"
	"github.com/akraino-icn/bpa/test/lab/stamp"
)

// scenarioDebs are the packages that end-to-end tests install on lab nodes. The image of a lab node
// does not contain them.
var scenarioDebs = []string{"jq"}

// kubesprayDebs are the packages that kubespray's role system_packages installs on Debian 12
// (roles/system_packages/vars/main.yml of v2.31.0). The image of a lab node contains them already.
// The depot must have them nevertheless, because BPA checks that before an installation.
var kubesprayDebs = []string{
	"apparmor", "apt-transport-https", "bash-completion", "conntrack", "curl", "e2fsprogs", "ebtables", "gnupg", "iproute2", "ipset", "iptables",
	"iputils-ping", "libseccomp2", "mergerfs", "openssl", "python3-apt", "rsync", "socat", "software-properties-common", "tar", "unzip", "xfsprogs",
}

// makeDebs downloads the packages and their dependencies from Debian, and stores them in the
// depot's folder for the operating system of the nodes. apt verifies the packages. The depot
// creates the index.
func (b *Builder) makeDebs(ctx context.Context) error {
	wanted := scenarioDebs
	if b.Kubespray != "" {
		wanted = append(wanted, kubesprayDebs...)
	}
	var outputs []string
	request := debian.Request{System: osimage.NodeSystem, Architecture: "amd64"}
	for _, name := range wanted {
		outputs = append(outputs, b.deb(name))
		request.Packages = append(request.Packages, artifacts.Package{Name: name})
	}
	key := stamp.Key(append([]string{osimage.NodeSystem}, wanted...)...)
	return b.once(fmt.Sprintf("%d Debian packages and their dependencies", len(wanted)), key, outputs, func() error {
		dir := b.cache("debs")
		defer os.RemoveAll(dir)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		debs, err := debian.Fetch(ctx, dir, request)
		if err != nil {
			return err
		}
		for _, d := range debs {
			name, _, _ := strings.Cut(filepath.Base(d.Path), "_")
			if err := copyFile(d.Disk, b.deb(name)); err != nil {
				return err
			}
			if err := give(b.depot(), b.deb(name)); err != nil {
				return err
			}
		}
		return nil
	})
}

// deb returns the path of a package in the depot's folder for the operating system of the nodes.
// The path does not contain the version, so that a newer version replaces an older one.
func (b *Builder) deb(name string) string {
	return b.files("apt/" + osimage.NodeSystem + "/" + name + ".deb")
}
