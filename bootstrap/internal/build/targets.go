package build

import "strings"

// Target describes one `go build` of one or more programs.
type Target struct {
	Name     string
	Module   string   // folder of the module, relative to the bootstrap module
	Packages []string // import paths to build; the last path element is the program's name
	LDFlags  string
	Tags     string   // Go build tags, separated by commas
	Alias    string   // second name of the target on the command line
	Links    []string // symbolic links to the target's first program
	// Local is set if the module is part of this project. Such code changes often and is large.
	// Therefore Go's build cache, and not the stamp, decides what to build again.
	Local bool
}

// Machine is the name of the target that builds the machine command itself.
const Machine = "machine"

const (
	kubernetes = "v1.35.4"
	containerd = "v2.2.9"
)

// kubernetesFlags returns the linker flags that set the reported version. Without them, Kubernetes
// reports a version that knative and Tekton reject.
func kubernetesFlags() string {
	const pkg = "k8s.io/component-base/version."
	return strings.Join([]string{
		"-s -w", "-X " + pkg + "gitVersion=" + kubernetes, "-X " + pkg + "gitMajor=1", "-X " + pkg + "gitMinor=35",
		"-X " + pkg + "gitCommit=none", "-X " + pkg + "gitTreeState=clean", "-X k8s.io/client-go/pkg/version.gitVersion=" + kubernetes,
	}, " ")
}

// Targets returns the targets for all programs of the machine, the longest builds first.
func Targets() []Target {
	const cd = "github.com/containerd/containerd/v2/"
	return []Target{
		{
			Name: "kubernetes", Module: "modules/kube", LDFlags: kubernetesFlags(),
			Packages: []string{"github.com/akraino-icn/bpa/bootstrap/modules/kube", "k8s.io/kubernetes/cmd/kubectl", "k8s.io/kubernetes/cmd/kubeadm"},
			Alias:    "apiserver",
			Links:    []string{"etcd", "etcdutl", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet"},
		},
		{
			Name: "containerd", Module: "modules/containerd", LDFlags: "-s -w -X " + cd + "version.Version=" + containerd,
			Packages: []string{cd + "cmd/containerd", cd + "cmd/containerd-shim-runc-v2", cd + "cmd/ctr"},
		},
		{Name: "ko", Module: "modules/ko", LDFlags: "-s -w", Packages: []string{"github.com/google/ko"}},
		{Name: "coredns", Module: "modules/coredns", LDFlags: "-s -w", Packages: []string{"github.com/akraino-icn/bpa/bootstrap/modules/coredns"}},
		{Name: "depot", Module: "..", LDFlags: "-s -w", Packages: []string{"github.com/akraino-icn/bpa/cmd/depot"}, Local: true},
		{Name: "pause", Module: ".", LDFlags: "-s -w", Packages: []string{"github.com/akraino-icn/bpa/bootstrap/cmd/pause"}, Local: true},
		{Name: Machine, Module: ".", Packages: []string{"github.com/akraino-icn/bpa/bootstrap/cmd/machine"}, Local: true},
	}
}
