package build

import "strings"

// Target is a go build of one or more programs.
type Target struct {
	Name     string
	Module   string   // folder of the module, relative to the bootstrap module
	Packages []string // what to build; the names of the programs are the last parts of these paths
	LDFlags  string
	Tags     string   // Go build tags, separated by commas
	Alias    string   // another name on the command line: the purpose that the target alone serves
	Links    []string // further names of the (only) program
	// Local: the module's code is this project's own, changes often and is large; Go's own cache decides what to do.
	Local bool
}

// Machine is the target of the command itself.
const Machine = "machine"

const (
	kubernetes = "v1.35.4"
	containerd = "v2.2.1"
)

// Without these, Kubernetes reports a version that knative and Tekton refuse to talk to.
func kubernetesFlags() string {
	const pkg = "k8s.io/component-base/version."
	return strings.Join([]string{
		"-s -w", "-X " + pkg + "gitVersion=" + kubernetes, "-X " + pkg + "gitMajor=1", "-X " + pkg + "gitMinor=35",
		"-X " + pkg + "gitCommit=none", "-X " + pkg + "gitTreeState=clean", "-X k8s.io/client-go/pkg/version.gitVersion=" + kubernetes,
	}, " ")
}

// Targets are all programs of the machine, the long builds first.
func Targets() []Target {
	const cd = "github.com/containerd/containerd/v2/"
	return []Target{
		{
			Name: "kubernetes", Module: "modules/kube", LDFlags: kubernetesFlags(),
			Packages: []string{"github.com/akraino-icn/bpa/bootstrap/modules/kube", "k8s.io/kubernetes/cmd/kubectl", "k8s.io/kubernetes/cmd/kubeadm"},
			Alias:    "apiserver",
			Links:    []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet"},
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
