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

// storyDebs are packages that the image of a lab node does not have, for stories that install one.
var storyDebs = []string{"jq"}

// kubesprayDebs are what kubespray's role system_packages installs on Debian 12 (roles/system_packages/vars/main.yml of v2.31.0). The image of a
// lab node has them, but the depot is asked for each of them before an installation.
var kubesprayDebs = []string{
	"apparmor", "apt-transport-https", "bash-completion", "conntrack", "curl", "e2fsprogs", "ebtables", "gnupg", "iproute2", "ipset", "iptables",
	"iputils-ping", "libseccomp2", "mergerfs", "openssl", "python3-apt", "rsync", "socat", "software-properties-common", "tar", "unzip", "xfsprogs",
}

// makeDebs gets the packages, and what they depend on, from the distribution, as apt verifies them, into the depot's folder for the nodes'
// system. The depot makes the index.
func (s *Site) makeDebs(ctx context.Context) error {
	wanted := storyDebs
	if s.Kubespray != "" {
		wanted = append(wanted, kubesprayDebs...)
	}
	var outputs []string
	wish := debian.Wish{System: osimage.NodeSystem, Architecture: "amd64"}
	for _, name := range wanted {
		outputs = append(outputs, s.deb(name))
		wish.Packages = append(wish.Packages, artifacts.Package{Name: name})
	}
	key := stamp.Key(append([]string{osimage.NodeSystem}, wanted...)...)
	return s.once(fmt.Sprintf("%d Debian packages and their dependencies", len(wanted)), key, outputs, func() error {
		dir := s.cache("debs")
		defer os.RemoveAll(dir)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		debs, err := debian.Fetch(ctx, dir, wish)
		if err != nil {
			return err
		}
		for _, d := range debs {
			name, _, _ := strings.Cut(filepath.Base(d.Path), "_")
			if err := copyFile(d.Disk, s.deb(name)); err != nil {
				return err
			}
		}
		return nil
	})
}

// deb is where the depot looks for a package of the nodes' system. One file for each name: a newer version takes the place of the older one.
func (s *Site) deb(name string) string {
	return s.files("apt/" + osimage.NodeSystem + "/" + name + ".deb")
}
