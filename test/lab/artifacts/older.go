package artifacts

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/test/lab/pack"
	"github.com/akraino-icn/bpa/test/lab/stamp"
)

// Older versions of Kubernetes, from which a cluster can be upgraded in the lab. Etcd and the DNS server stay the
// same over these upgrades: kubeadm's default etcd of all versions is at least 3.6.5.
const (
	// PreviousKubernetes has a module of its own, because the versions of its parts differ.
	PreviousKubernetes = "1.34.3"
	// PatchedKubernetes is a FAKE: the programs of the newest version, linked with this number. Its build takes a minute,
	// and not the 20 of a version with other sources. What kubespray, kubeadm and BPA do in a patch upgrade is real.
	PatchedKubernetes = "1.35.3"
)

// OlderKubernetes are the versions that MakeOlder can build, the cheapest first.
var OlderKubernetes = []string{PatchedKubernetes, PreviousKubernetes}

// older is an older version of Kubernetes.
type older struct {
	version string
	dir     string // folder of the module, relative to the repository
	module  string // its path
}

func olderOf(version string) older {
	if version == PatchedKubernetes {
		return older{version, "bootstrap/modules/kube", "github.com/akraino-icn/bpa/bootstrap/modules/kube"}
	}
	return older{version, "test/lab/modules/kube", "github.com/akraino-icn/bpa/test/lab/modules/kube"}
}

// MakeOlder builds the artifacts of one of OlderKubernetes, stores them in the depot, and makes the
// variables usable for all versions. Only tests of upgrades need them.
func MakeOlder(ctx context.Context, b *Builder, version string) error {
	const kubernetes = "k8s.io/kubernetes/cmd/"
	o := olderOf(version)
	if err := b.goBuild(ctx, o.dir, o.flags(), b.older(o), o.module, kubernetes+"kubectl", kubernetes+"kubeadm"); err != nil {
		return err
	}
	for _, f := range b.olderFiles(o) {
		if err := b.store(f); err != nil {
			return err
		}
	}
	if err := b.makeOlderImages(ctx, o); err != nil {
		return err
	}
	return b.makeFiles(ctx)
}

func (b *Builder) older(o older, name ...string) string {
	return b.cache(append([]string{"kube-" + o.version}, name...)...)
}

// flags returns the linker flags that set the reported version.
func (o older) flags() string {
	const pkg = "k8s.io/component-base/version."
	minor := strings.Split(o.version, ".")[1]
	return strings.Join([]string{"-X " + pkg + "gitVersion=v" + o.version, "-X " + pkg + "gitMajor=1", "-X " + pkg + "gitMinor=" + minor,
		"-X " + pkg + "gitCommit=none", "-X " + pkg + "gitTreeState=clean", "-X k8s.io/client-go/pkg/version.gitVersion=v" + o.version}, " ")
}

// kubeFiles are the programs that nodes download for a version of Kubernetes, by the variable with
// their checksum.
var kubeFiles = map[string]string{"kubelet_binary_checksum": "kubelet", "kubeadm_binary_checksum": "kubeadm", "kubectl_binary_checksum": "kubectl"}

func (b *Builder) olderFiles(o older) (files []file) {
	for variable, name := range kubeFiles {
		source := name
		if name == "kubelet" {
			source = "kube" // the multi-call binary
		}
		files = append(files, file{path: "dl.k8s.io/release/v" + o.version + "/bin/linux/amd64/" + name,
			variable: variable + " " + o.version, source: b.older(o, source)})
	}
	return files
}

func (b *Builder) makeOlderImages(ctx context.Context, o older) error {
	entries := []pack.Entry{{Name: "usr/local/bin/kube", Source: b.older(o, "kube")}}
	for _, c := range components {
		entries = append(entries, pack.Entry{Name: "usr/local/bin/" + c, Link: "kube"})
	}
	kube, err := b.packedLayer("kube-"+o.version, stamp.Key(stamp.FileKey(b.older(o, "kube")), fmt.Sprint(components)), entries...)
	if err != nil {
		return err
	}
	tools, links, err := b.proxyLayers(ctx)
	if err != nil {
		return err
	}
	env := v1.Config{Env: []string{searchPath}}
	for _, i := range []image{
		{"kube-apiserver:v" + o.version, []string{kube}, env},
		{"kube-controller-manager:v" + o.version, []string{kube}, env},
		{"kube-scheduler:v" + o.version, []string{kube}, env},
		{"kube-proxy:v" + o.version, []string{tools, links, kube}, env},
	} {
		if err := b.push(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// allVersions makes the checksums of programs of Kubernetes depend on kube_version, if the depot has older
// versions too. The variables then stay the same in an upgrade. It also keeps the version of the DNS server, which
// depends on that of Kubernetes otherwise.
func (b *Builder) allVersions(vars map[string]any) {
	for variable := range kubeFiles {
		sums := map[string]any{}
		for _, version := range OlderKubernetes {
			if sum := b.stamps().Value("sha256 " + variable + " " + version); sum != "" {
				sums[version] = "sha256:" + sum
			}
		}
		if len(sums) == 0 {
			return
		}
		sums[kubeVersion] = vars[variable]
		raw, _ := json.Marshal(sums) // strings can always be encoded
		vars[variable] = fmt.Sprintf("{{ %s[kube_version] }}", raw)
	}
}
