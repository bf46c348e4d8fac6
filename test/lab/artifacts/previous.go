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

// PreviousKubernetes is the version of Kubernetes from which a cluster can be upgraded in the lab. It
// has a module of its own, because the versions of its parts differ. Etcd and the DNS server stay the
// same over this upgrade: kubeadm's default etcd of both versions is at least 3.6.5.
const PreviousKubernetes = "1.34.3"

// MakePrevious builds the artifacts of PreviousKubernetes, stores them in the depot, and makes the
// variables usable for both versions. Only tests of upgrades need them, since the build takes long.
func MakePrevious(ctx context.Context, b *Builder) error {
	const kubernetes = "k8s.io/kubernetes/cmd/"
	err := b.goBuild(ctx, "test/lab/modules/kube", previousFlags(), b.previous(),
		"github.com/akraino-icn/bpa/test/lab/modules/kube", kubernetes+"kubectl", kubernetes+"kubeadm")
	if err != nil {
		return err
	}
	for _, f := range b.previousFiles() {
		if err := b.store(f); err != nil {
			return err
		}
	}
	if err := b.makePreviousImages(ctx); err != nil {
		return err
	}
	return b.makeFiles(ctx)
}

func (b *Builder) previous(name ...string) string {
	return b.cache(append([]string{"kube-" + PreviousKubernetes}, name...)...)
}

// previousFlags returns the linker flags that set the reported version.
func previousFlags() string {
	const pkg = "k8s.io/component-base/version."
	minor := strings.Split(PreviousKubernetes, ".")[1]
	return strings.Join([]string{"-X " + pkg + "gitVersion=v" + PreviousKubernetes, "-X " + pkg + "gitMajor=1", "-X " + pkg + "gitMinor=" + minor,
		"-X " + pkg + "gitCommit=none", "-X " + pkg + "gitTreeState=clean", "-X k8s.io/client-go/pkg/version.gitVersion=v" + PreviousKubernetes}, " ")
}

// kubeFiles are the programs that nodes download for a version of Kubernetes, by the variable with
// their checksum.
var kubeFiles = map[string]string{"kubelet_binary_checksum": "kubelet", "kubeadm_binary_checksum": "kubeadm", "kubectl_binary_checksum": "kubectl"}

func (b *Builder) previousFiles() (files []file) {
	for variable, name := range kubeFiles {
		source := name
		if name == "kubelet" {
			source = "kube" // the multi-call binary
		}
		files = append(files, file{path: "dl.k8s.io/release/v" + PreviousKubernetes + "/bin/linux/amd64/" + name,
			variable: variable + " " + PreviousKubernetes, source: b.previous(source)})
	}
	return files
}

func (b *Builder) makePreviousImages(ctx context.Context) error {
	entries := []pack.Entry{{Name: "usr/local/bin/kube", Source: b.previous("kube")}}
	for _, c := range components {
		entries = append(entries, pack.Entry{Name: "usr/local/bin/" + c, Link: "kube"})
	}
	kube, err := b.packedLayer("kube-"+PreviousKubernetes, stamp.Key(stamp.FileKey(b.previous("kube")), fmt.Sprint(components)), entries...)
	if err != nil {
		return err
	}
	tools, links, err := b.proxyLayers(ctx)
	if err != nil {
		return err
	}
	env := v1.Config{Env: []string{searchPath}}
	for _, i := range []image{
		{"kube-apiserver:v" + PreviousKubernetes, []string{kube}, env},
		{"kube-controller-manager:v" + PreviousKubernetes, []string{kube}, env},
		{"kube-scheduler:v" + PreviousKubernetes, []string{kube}, env},
		{"kube-proxy:v" + PreviousKubernetes, []string{tools, links, kube}, env},
	} {
		if err := b.push(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// bothVersions makes the checksums of programs of Kubernetes depend on kube_version, if the depot has
// PreviousKubernetes too. The variables then stay the same in an upgrade. It also keeps the version of
// the DNS server, which depends on that of Kubernetes otherwise.
func (b *Builder) bothVersions(vars map[string]any) {
	for variable := range kubeFiles {
		sum := b.stamps().Value("sha256 " + variable + " " + PreviousKubernetes)
		if sum == "" {
			return
		}
		sums, _ := json.Marshal(map[string]any{PreviousKubernetes: "sha256:" + sum, kubeVersion: vars[variable]}) // strings can always be encoded
		vars[variable] = fmt.Sprintf("{{ %s[kube_version] }}", sums)
	}
	vars["coredns_version"] = corednsVersion
}
