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

// These are the versions of the files that the real kubespray downloads but the playbooks in
// test/playbooks do not. They are the nearest versions that are available as Go modules. A real
// site uploads the upstream release files and does not set the kubespray variables for these
// versions.
const (
	etcdVersion    = "3.6.5"
	crictlVersion  = "1.34.0"
	nerdctlVersion = "2.0.3"
)

// KubesprayRelease is the release of kubespray for which the lab selects Ansible, variables and
// downloads.
const KubesprayRelease = "v2.31.0"

var galaxyVersion = regexp.MustCompile(`(?m)^version: *"?([0-9.]+)"?$`)

// checkKubespray returns an error if s.Kubespray is set but is not a checkout of KubesprayRelease,
// because another release needs another Ansible version and other downloads.
func (b *Builder) checkKubespray() error {
	if b.Kubespray == "" {
		return nil
	}
	const advice = "unset KUBESPRAY and run `make kubespray`, or name a checkout of " + KubesprayRelease
	text, err := os.ReadFile(filepath.Join(b.Kubespray, "galaxy.yml"))
	if err == nil {
		_, err = os.Stat(filepath.Join(b.Kubespray, "cluster.yml"))
	}
	if err != nil {
		return fmt.Errorf("KUBESPRAY=%s is not a checkout of kubespray: %w; %s", b.Kubespray, err, advice)
	}
	if found := galaxyVersion.FindSubmatch(text); found == nil || "v"+string(found[1]) != KubesprayRelease {
		return errors.New("KUBESPRAY=" + b.Kubespray + " contains another release than " + KubesprayRelease + " (see its galaxy.yml); " + advice)
	}
	return nil
}

// kubesprayFiles builds the additional files that the real kubespray downloads. It returns nil if
// there is no checkout of kubespray.
func (b *Builder) kubesprayFiles(ctx context.Context) ([]file, error) {
	if b.Kubespray == "" {
		return nil, nil
	}
	const (
		crictl  = "sigs.k8s.io/cri-tools/"
		nerdctl = "github.com/containerd/nerdctl/v2/"
		etcd    = "go.etcd.io/etcd/"
	)
	for _, m := range []struct {
		module, ldflags string
		packages        []string
	}{
		{"crictl", "-X " + crictl + "pkg/version.Version=v" + crictlVersion, []string{crictl + "cmd/crictl"}},
		{"nerdctl", "-X " + nerdctl + "pkg/version.Version=v" + nerdctlVersion, []string{nerdctl + "cmd/nerdctl"}},
		{"etcd", "", []string{etcd + "server/v3", etcd + "etcdutl/v3"}},
	} {
		if err := b.goBuild(ctx, "test/lab/modules/"+m.module, m.ldflags, b.cache(m.module), m.packages...); err != nil {
			return nil, err
		}
	}
	etcdctl, err := b.etcdctl(ctx)
	if err != nil {
		return nil, err
	}
	etcdDir := fmt.Sprintf("etcd-v%s-linux-amd64", etcdVersion)
	return []file{
		{
			path:     fmt.Sprintf("github.com/etcd-io/etcd/releases/download/v%s/%s.tar.gz", etcdVersion, etcdDir),
			variable: "etcd_binary_checksum",
			entries: append(b.programs(etcdDir+"/", etcdctl, "etcdctl"),
				pack.Entry{Name: etcdDir + "/etcdutl", Source: b.cache("etcd", "etcdutl")},
				pack.Entry{Name: etcdDir + "/etcd", Source: b.cache("etcd", "server")}),
		},
		{
			path:     fmt.Sprintf("github.com/kubernetes-sigs/cri-tools/releases/download/v%[1]s/crictl-v%[1]s-linux-amd64.tar.gz", crictlVersion),
			variable: "crictl_binary_checksum",
			entries:  b.programs("", b.cache("crictl"), "crictl"),
		},
		{
			path:     fmt.Sprintf("github.com/containerd/nerdctl/releases/download/v%[1]s/nerdctl-%[1]s-linux-amd64.tar.gz", nerdctlVersion),
			variable: "nerdctl_archive_checksum",
			entries:  b.programs("", b.cache("nerdctl"), "nerdctl"),
		},
	}, nil
}
