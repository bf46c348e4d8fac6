package artifacts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/akraino-icn/bpa/test/lab/pack"
)

// Versions of what kubespray downloads beyond test/playbooks: the nearest ones that are served as Go modules. A site
// uploads the upstream release files and leaves these variables alone.
const (
	etcdVersion    = "3.6.5"
	crictlVersion  = "1.34.0"
	nerdctlVersion = "2.0.3"
)

// KubesprayRelease is the release of kubespray that the lab's Ansible, variables and downloads belong to.
const KubesprayRelease = "v2.31.0"

var galaxyVersion = regexp.MustCompile(`(?m)^version: *"?([0-9.]+)"?$`)

// checkKubespray refuses a folder that is not a checkout of KubesprayRelease: another release wants another Ansible and other downloads.
func (s *Site) checkKubespray() error {
	if s.Kubespray == "" {
		return nil
	}
	const advice = "unset KUBESPRAY and run `make kubespray`, or name a checkout of " + KubesprayRelease
	text, err := os.ReadFile(filepath.Join(s.Kubespray, "galaxy.yml"))
	if err == nil {
		_, err = os.Stat(filepath.Join(s.Kubespray, "cluster.yml"))
	}
	if err != nil {
		return fmt.Errorf("KUBESPRAY=%s is not a checkout of kubespray: %w; %s", s.Kubespray, err, advice)
	}
	if m := galaxyVersion.FindSubmatch(text); m == nil || "v"+string(m[1]) != KubesprayRelease {
		return errors.New("KUBESPRAY=" + s.Kubespray + " holds another release than " + KubesprayRelease + " (see its galaxy.yml); " + advice)
	}
	return nil
}

// kubesprayFiles are the further downloads that the real kubespray makes.
func (s *Site) kubesprayFiles(ctx context.Context) ([]file, error) {
	if s.Kubespray == "" {
		return nil, nil
	}
	const (
		crictl  = "sigs.k8s.io/cri-tools/"
		nerdctl = "github.com/containerd/nerdctl/v2/"
		etcd    = "go.etcd.io/etcd/"
	)
	for _, b := range []struct {
		module, ldflags string
		packages        []string
	}{
		{"crictl", "-X " + crictl + "pkg/version.Version=v" + crictlVersion, []string{crictl + "cmd/crictl"}},
		{"nerdctl", "-X " + nerdctl + "pkg/version.Version=v" + nerdctlVersion, []string{nerdctl + "cmd/nerdctl"}},
		{"etcd", "", []string{etcd + "server/v3", etcd + "etcdctl/v3", etcd + "etcdutl/v3"}},
	} {
		if err := s.goBuild(ctx, "test/lab/modules/"+b.module, b.ldflags, s.cache(b.module), b.packages...); err != nil {
			return nil, err
		}
	}
	etcdDir := fmt.Sprintf("etcd-v%s-linux-amd64", etcdVersion)
	return []file{
		{
			path:     fmt.Sprintf("github.com/etcd-io/etcd/releases/download/v%s/%s.tar.gz", etcdVersion, etcdDir),
			variable: "etcd_binary_checksum",
			entries: append(s.programs(etcdDir+"/", s.cache("etcd"), "etcdctl", "etcdutl"),
				pack.Entry{Name: etcdDir + "/etcd", Source: s.cache("etcd", "server")}),
		},
		{
			path:     fmt.Sprintf("github.com/kubernetes-sigs/cri-tools/releases/download/v%[1]s/crictl-v%[1]s-linux-amd64.tar.gz", crictlVersion),
			variable: "crictl_binary_checksum",
			entries:  s.programs("", s.cache("crictl"), "crictl"),
		},
		{
			path:     fmt.Sprintf("github.com/containerd/nerdctl/releases/download/v%[1]s/nerdctl-%[1]s-linux-amd64.tar.gz", nerdctlVersion),
			variable: "nerdctl_archive_checksum",
			entries:  s.programs("", s.cache("nerdctl"), "nerdctl"),
		},
	}, nil
}
