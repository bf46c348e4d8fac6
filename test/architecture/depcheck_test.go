package architecture

import (
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
	"knative.dev/pkg/depcheck"
)

const module = "github.com/akraino-icn/bpa/"

// layer is a folder of the module, with the imports that the packages in it may have. Paths end
// with a slash, so that pkg/client/ is no prefix of a folder such as pkg/clients/.
type layer struct {
	folder string
	// ours are the other folders of this module that the packages may import.
	ours []string
	// foreign are the prefixes of imports from other modules; nil allows any.
	foreign []string
}

// layers are ordered from the lowest to the highest: a package imports only those of its own row and of the rows above
// it. If several of the folders contain a package, the one with the longest path applies.
var layers = []layer{
	// The types: whoever reads or writes our objects gets nothing else of this repository.
	{folder: "pkg/apis/", foreign: []string{"k8s.io/api/", "k8s.io/apiextensions-apiserver/pkg/apis/", "k8s.io/apimachinery/", "knative.dev/pkg/apis", "knative.dev/pkg/kmeta/", "github.com/robfig/cron/"}},
	{folder: "pkg/digest/", foreign: []string{}},
	{folder: "pkg/nearest/", foreign: []string{}},
	{folder: "pkg/contract/", ours: []string{"pkg/digest/"}, foreign: []string{}},
	// Copies of code of others, with the change that third_party/README.md explains.
	{folder: "third_party/"},
	{folder: "pkg/upgrade/", ours: []string{"pkg/contract/"}, foreign: []string{}},
	{folder: "pkg/depot/protocol/", ours: []string{"pkg/digest/"}, foreign: []string{}},
	{folder: "pkg/artifacts/", ours: []string{"pkg/depot/protocol/", "pkg/digest/"}, foreign: []string{"github.com/google/go-containerregistry/pkg/name/", "pault.ag/go/debian/dependency/", "pault.ag/go/debian/version/"}},

	// Plugins. The webhook and the controller read definitions; only tasks and kubectl bpa render them.
	{folder: "plugins/", foreign: []string{}},
	{folder: "pkg/plugin/", ours: []string{"plugins/", "pkg/artifacts/", "pkg/contract/", "pkg/digest/", "pkg/nearest/"}, foreign: []string{"k8s.io/kube-openapi/pkg/validation/", "sigs.k8s.io/yaml/"}},
	{folder: "pkg/admission/", ours: []string{"pkg/apis/", "pkg/contract/", "pkg/plugin/", "pkg/upgrade/"}, foreign: []string{"k8s.io/api/", "k8s.io/apiextensions-apiserver/pkg/apis/", "k8s.io/apimachinery/", "knative.dev/pkg/apis"}},
	{folder: "pkg/settings/", ours: []string{"pkg/admission/", "pkg/apis/"}, foreign: []string{"k8s.io/api/", "k8s.io/apimachinery/pkg/util/validation/"}},
	{folder: "pkg/secretvars/", foreign: []string{"sigs.k8s.io/yaml/"}},
	{folder: "pkg/contract/from/", ours: []string{"pkg/admission/", "pkg/apis/", "pkg/settings/", "pkg/contract/", "pkg/plugin/", "pkg/secretvars/"}, foreign: []string{"k8s.io/api/", "k8s.io/apiextensions-apiserver/pkg/apis/", "k8s.io/apimachinery/"}},
	{folder: "pkg/client/", ours: []string{"pkg/apis/"}},
	{folder: "pkg/depot/auth/", ours: []string{"pkg/depot/protocol/"}, foreign: []string{}},
	{folder: "pkg/depot/"},
	{folder: "pkg/depot/tlscert/", foreign: []string{}},
	{folder: "pkg/depot/software/", ours: []string{"pkg/depot/protocol/"}, foreign: []string{"k8s.io/apimachinery/pkg/", "k8s.io/client-go/rest/"}},
	{folder: "pkg/depot/auth/kubernetes/", ours: []string{"pkg/depot/auth/"}, foreign: []string{"k8s.io/api/", "k8s.io/apimachinery/", "k8s.io/client-go/rest/", "k8s.io/client-go/tools/clientcmd/"}},

	// Most of these packages are pure, such as the assignment of hosts, the rendering of the
	// inventory and the reader of Ansible's events: they use no client, network or process.
	{folder: "pkg/hosts/", ours: []string{"pkg/contract/"}, foreign: []string{}},
	{folder: "pkg/hosts/assign/", ours: []string{"pkg/contract/", "pkg/hosts/"}, foreign: []string{}},
	{folder: "pkg/hosts/networkdata/", ours: []string{"pkg/hosts/"}, foreign: []string{"sigs.k8s.io/yaml/"}},
	{folder: "pkg/hosts/hostfile/", ours: []string{"pkg/contract/", "pkg/hosts/", "pkg/nearest/"}, foreign: []string{"github.com/metal3-io/baremetal-operator/", "go.yaml.in/yaml/v3/", "k8s.io/api/", "k8s.io/apimachinery/"}},
	{folder: "pkg/hosts/facts/", ours: []string{"pkg/contract/", "pkg/hosts/"}},
	{folder: "pkg/hosts/stuck/", ours: []string{}},
	{folder: "pkg/hosts/imaging/", ours: []string{"pkg/contract/", "pkg/hosts/"}},
	{folder: "pkg/hosts/claim/", ours: []string{"pkg/contract/", "pkg/hosts/"}},
	{folder: "pkg/hosts/cache/", ours: []string{"pkg/contract/", "pkg/hosts/"}},
	{folder: "pkg/inventory/", ours: []string{"pkg/contract/", "pkg/digest/"}, foreign: []string{"sigs.k8s.io/yaml/"}},
	{folder: "pkg/backup/", ours: []string{"pkg/contract/", "pkg/depot/protocol/"}, foreign: []string{"filippo.io/age/"}},
	{folder: "pkg/software/", ours: []string{"pkg/admission/", "pkg/apis/", "pkg/contract/", "pkg/depot/protocol/"}, foreign: []string{"k8s.io/apimachinery/", "pault.ag/go/debian/version"}},
	{folder: "pkg/shrink/", ours: []string{"pkg/contract/"}, foreign: []string{}},
	// Tekton's own types import gRPC, CEL and OpenTelemetry, which kubectl bpa has no room for.
	{folder: "pkg/runs/tekton/", foreign: []string{"github.com/tektoncd/pipeline/pkg/apis/pipeline/", "k8s.io/api/", "k8s.io/apimachinery/", "knative.dev/pkg/apis/"}},
	{folder: "pkg/runs/tekton/convert/", ours: []string{"pkg/runs/tekton/"}, foreign: []string{"github.com/tektoncd/pipeline/pkg/apis/pipeline/v1/", "k8s.io/apimachinery/pkg/apis/meta/"}},
	{folder: "pkg/runs/", ours: []string{"pkg/contract/"}, foreign: []string{"github.com/tektoncd/pipeline/pkg/apis/", "k8s.io/api/", "k8s.io/apimachinery/", "k8s.io/utils/ptr/", "knative.dev/pkg/apis/"}},
	{folder: "pkg/machine/", ours: []string{"pkg/contract/"}, foreign: []string{}},
	{folder: "pkg/check/", ours: []string{"pkg/contract/", "pkg/machine/"}, foreign: []string{}},
	{folder: "pkg/nodemeta/", foreign: []string{}},
	{folder: "pkg/health/", foreign: []string{}},
	{folder: "pkg/health/healthtest/", foreign: []string{"k8s.io/api/", "k8s.io/apimachinery/"}},
	{folder: "pkg/health/look/", ours: []string{"pkg/health/", "pkg/nodemeta/"}, foreign: []string{"sigs.k8s.io/yaml/"}},
	{folder: "pkg/health/monitor/", ours: []string{"pkg/health/"}, foreign: []string{"k8s.io/apimachinery/pkg/types/"}},
	{folder: "pkg/ansible/", foreign: []string{"sigs.k8s.io/yaml/"}},
	{folder: "pkg/ansible/process/", foreign: []string{}},
	{folder: "pkg/depot/client/", ours: []string{"pkg/artifacts/", "pkg/depot/protocol/"}},
	{folder: "pkg/transfer/", ours: []string{"pkg/artifacts/", "pkg/depot/client/", "pkg/depot/protocol/"}},
	{folder: "pkg/plugin/pack/", ours: []string{"pkg/plugin/"}, foreign: []string{"github.com/opencontainers/"}},
	{folder: "pkg/plugin/render/", ours: []string{"pkg/plugin/", "third_party/helm/"}, foreign: []string{"helm.sh/helm/v3/pkg/", "k8s.io/apimachinery/pkg/", "sigs.k8s.io/yaml/"}},
	{folder: "pkg/plugin/cluster/", ours: []string{"pkg/plugin/", "pkg/contract/"}, foreign: []string{"k8s.io/api/", "k8s.io/apimachinery/", "k8s.io/client-go/", "k8s.io/utils/", "github.com/fluxcd/cli-utils/pkg/kstatus/status/"}},
	{folder: "pkg/bundle/", ours: []string{"pkg/artifacts/", "pkg/digest/", "pkg/transfer/", "pkg/depot/client/", "pkg/depot/protocol/"}},

	// Access to application clusters, which the task collect-kubeconfig and the controller share.
	{folder: "pkg/access/", ours: []string{"pkg/contract/"}, foreign: []string{"k8s.io/api/rbac/v1/", "k8s.io/apimachinery/pkg/apis/meta/", "k8s.io/client-go/rest/", "k8s.io/client-go/tools/clientcmd/"}},
	{folder: "pkg/access/cluster/", ours: []string{"pkg/access/", "pkg/contract/"}, foreign: []string{"k8s.io/api/", "k8s.io/apimachinery/", "k8s.io/client-go/"}},

	// What several tasks use, and then the tasks. Tasks and the reconciler do not import each other.
	{folder: "pkg/tasks/task/", ours: []string{"pkg/contract/"}},
	{folder: "pkg/ssh/", foreign: []string{"golang.org/x/crypto/", "golang.org/x/sync/"}},
	{folder: "pkg/tasks/node/", ours: []string{"pkg/contract/", "pkg/machine/", "pkg/ssh/", "pkg/tasks/task/"}},
	{folder: "pkg/check/visit/", ours: []string{"pkg/check/", "pkg/ssh/", "pkg/tasks/node/"}, foreign: []string{"golang.org/x/sync/"}},
	{folder: "pkg/tasks/kube/", ours: []string{"pkg/contract/", "pkg/tasks/task/"}},
	{folder: "pkg/tasks/playbook/", ours: []string{"pkg/ansible/", "pkg/contract/", "pkg/tasks/task/"}},
	{folder: "pkg/tasks/plugins/", ours: []string{"pkg/artifacts/", "pkg/contract/", "pkg/depot/client/", "pkg/plugin/", "pkg/plugin/pack/", "pkg/plugin/render/", "pkg/tasks/task/"}},
	{folder: "pkg/tasks/podstart/", ours: []string{"pkg/contract/", "pkg/tasks/node/", "pkg/tasks/task/"}},
	{folder: "pkg/tasks/etcd/", ours: []string{"pkg/contract/", "pkg/ssh/", "pkg/tasks/node/", "pkg/tasks/task/"}},
	{folder: "pkg/appcluster/", ours: []string{"pkg/access/", "pkg/contract/", "pkg/machine/", "pkg/ssh/", "pkg/tasks/kube/", "pkg/tasks/node/", "pkg/tasks/task/"}},
	{folder: "pkg/appcluster/drain/", ours: []string{"pkg/tasks/task/"}, foreign: []string{"k8s.io/api/", "k8s.io/apimachinery/", "k8s.io/client-go/", "k8s.io/kubectl/pkg/drain"}},
	{folder: "pkg/appcluster/apitest/", ours: []string{"pkg/access/", "pkg/tasks/node/"}},
	{folder: "pkg/tasks/software/", ours: []string{"pkg/ansible/", "pkg/contract/", "pkg/digest/", "pkg/ssh/", "pkg/tasks/playbook/", "pkg/tasks/task/"}},

	// Work on the machines of a cluster, from what all operations share to the single operation.
	{folder: "pkg/operate/session/sessiontest/", foreign: []string{}},
	{folder: "pkg/operate/session/", ours: []string{"pkg/ansible/", "pkg/contract/", "pkg/depot/protocol/", "pkg/inventory/", "pkg/machine/", "pkg/secretvars/", "pkg/ssh/", "pkg/tasks/kube/", "pkg/tasks/node/", "pkg/tasks/playbook/", "pkg/tasks/podstart/", "pkg/tasks/task/"}},
	{folder: "pkg/operate/play/", ours: []string{"pkg/ansible/", "pkg/contract/", "pkg/inventory/", "pkg/operate/session/", "pkg/secretvars/", "pkg/ssh/", "pkg/tasks/playbook/", "pkg/tasks/task/"}},
	{folder: "pkg/operate/vip/", ours: []string{"pkg/contract/"}},
	{folder: "pkg/operate/prepare/", ours: []string{"pkg/contract/", "pkg/depot/protocol/", "pkg/operate/session/", "pkg/operate/vip/", "pkg/ssh/", "pkg/tasks/node/", "pkg/tasks/task/"}},
	{folder: "pkg/operate/cluster/", ours: []string{"pkg/appcluster/", "pkg/contract/", "pkg/operate/session/", "pkg/ssh/", "pkg/tasks/etcd/", "pkg/tasks/node/", "pkg/tasks/playbook/", "pkg/tasks/podstart/", "pkg/tasks/task/"}},
	{folder: "pkg/operate/controlplane/", ours: []string{"pkg/contract/", "pkg/machine/", "pkg/operate/cluster/", "pkg/operate/play/", "pkg/operate/session/", "pkg/operate/vip/", "pkg/ssh/", "pkg/tasks/etcd/", "pkg/tasks/node/", "pkg/tasks/task/"}},
	{folder: "pkg/operate/reset/", ours: []string{"pkg/contract/", "pkg/inventory/", "pkg/machine/", "pkg/operate/play/", "pkg/operate/session/", "pkg/ssh/", "pkg/tasks/node/", "pkg/tasks/playbook/", "pkg/tasks/task/"}},
	{folder: "pkg/operate/join/", ours: []string{"pkg/contract/", "pkg/inventory/", "pkg/machine/", "pkg/operate/cluster/", "pkg/operate/controlplane/", "pkg/operate/play/", "pkg/operate/prepare/", "pkg/operate/reset/", "pkg/operate/session/", "pkg/ssh/", "pkg/tasks/etcd/", "pkg/tasks/kube/", "pkg/tasks/node/", "pkg/tasks/playbook/", "pkg/tasks/software/", "pkg/tasks/task/"}},
	{folder: "pkg/operate/remove/", ours: []string{"pkg/contract/", "pkg/inventory/", "pkg/machine/", "pkg/operate/cluster/", "pkg/operate/controlplane/", "pkg/operate/play/", "pkg/operate/reset/", "pkg/operate/session/", "pkg/shrink/", "pkg/ssh/", "pkg/tasks/node/", "pkg/tasks/playbook/", "pkg/tasks/task/"}},
	{folder: "pkg/operate/upgrade/", ours: []string{"pkg/contract/", "pkg/inventory/", "pkg/machine/", "pkg/operate/cluster/", "pkg/operate/controlplane/", "pkg/operate/play/", "pkg/operate/prepare/", "pkg/operate/session/", "pkg/ssh/", "pkg/tasks/etcd/", "pkg/tasks/kube/", "pkg/tasks/node/", "pkg/tasks/playbook/", "pkg/tasks/task/", "pkg/upgrade/"}},
	{folder: "pkg/operate/restore/", ours: []string{"pkg/backup/", "pkg/contract/", "pkg/depot/protocol/", "pkg/inventory/", "pkg/machine/", "pkg/operate/cluster/", "pkg/operate/controlplane/", "pkg/operate/play/", "pkg/operate/prepare/", "pkg/operate/reset/", "pkg/operate/session/", "pkg/ssh/", "pkg/tasks/etcd/", "pkg/tasks/kube/", "pkg/tasks/node/", "pkg/tasks/playbook/", "pkg/tasks/task/", "pkg/upgrade/"}},

	// The tasks: no task imports another one.
	{folder: "pkg/tasks/backup/", ours: []string{"pkg/backup/", "pkg/contract/", "pkg/depot/client/", "pkg/depot/protocol/", "pkg/inventory/", "pkg/ssh/", "pkg/tasks/kube/", "pkg/tasks/node/", "pkg/tasks/task/"}},
	{folder: "pkg/tasks/collectkubeconfig/", ours: []string{"pkg/access/", "pkg/contract/", "pkg/appcluster/", "pkg/tasks/node/", "pkg/tasks/task/"}},
	{folder: "pkg/tasks/installplugins/", ours: []string{"pkg/access/", "pkg/ansible/", "pkg/contract/", "pkg/depot/client/", "pkg/plugin/", "pkg/plugin/cluster/", "pkg/plugin/render/", "pkg/tasks/kube/", "pkg/appcluster/", "pkg/tasks/node/", "pkg/tasks/playbook/", "pkg/tasks/plugins/", "pkg/tasks/task/"}},
	{folder: "pkg/tasks/installsoftware/", ours: []string{"pkg/access/", "pkg/contract/", "pkg/ssh/", "pkg/tasks/etcd/", "pkg/tasks/kube/", "pkg/appcluster/", "pkg/tasks/node/", "pkg/tasks/playbook/", "pkg/tasks/podstart/", "pkg/tasks/software/", "pkg/tasks/task/"}},
	{folder: "pkg/tasks/kubespray/", ours: []string{"pkg/backup/", "pkg/contract/", "pkg/operate/join/", "pkg/operate/remove/", "pkg/operate/reset/", "pkg/operate/restore/", "pkg/operate/session/", "pkg/operate/upgrade/", "pkg/secretvars/", "pkg/tasks/node/", "pkg/tasks/task/"}},
	{folder: "pkg/tasks/kubespray/kubespraytest/", ours: []string{"pkg/ansible/process/", "pkg/appcluster/apitest/", "pkg/contract/", "pkg/inventory/", "pkg/machine/", "pkg/operate/session/", "pkg/operate/session/sessiontest/", "pkg/ssh/", "pkg/ssh/sshtest/", "pkg/tasks/etcd/", "pkg/tasks/kubespray/", "pkg/tasks/node/", "pkg/tasks/podstart/"}},
	{folder: "pkg/tasks/enroll/", ours: []string{"pkg/check/", "pkg/contract/", "pkg/machine/", "pkg/operate/session/", "pkg/ssh/", "pkg/tasks/kube/", "pkg/tasks/node/", "pkg/tasks/task/"}},
	{folder: "pkg/tasks/renderinventory/", ours: []string{"pkg/contract/", "pkg/inventory/", "pkg/tasks/task/"}},
	{folder: "pkg/tasks/seedregistry/", ours: []string{"pkg/ansible/", "pkg/artifacts/", "pkg/contract/", "pkg/depot/client/", "pkg/depot/protocol/", "pkg/inventory/", "pkg/plugin/", "pkg/tasks/plugins/", "pkg/tasks/task/", "pkg/transfer/"}},
	{folder: "pkg/tasks/selecthosts/", ours: []string{"pkg/contract/", "pkg/hosts/", "pkg/tasks/kube/", "pkg/tasks/task/"}},
	{folder: "pkg/reconciler/owned/"},
	{folder: "pkg/reconciler/events/", ours: []string{"pkg/client/"}},
	{folder: "pkg/reconciler/provisioning/resources/", ours: []string{"pkg/access/", "pkg/apis/", "pkg/contract/", "pkg/runs/", "pkg/secretvars/", "pkg/settings/"}},
	{folder: "pkg/reconciler/access/", ours: []string{"pkg/access/", "pkg/apis/", "pkg/client/", "pkg/contract/", "pkg/reconciler/events/", "pkg/reconciler/provisioning/resources/"}},
	{folder: "pkg/reconciler/nodeskey/", ours: []string{"pkg/apis/", "pkg/contract/", "pkg/reconciler/owned/", "pkg/reconciler/provisioning/resources/", "pkg/ssh/"}},
	{folder: "pkg/reconciler/caches/", ours: []string{"pkg/apis/", "pkg/contract/", "pkg/settings/"}},
	{folder: "pkg/reconciler/packages/", ours: []string{"pkg/depot/client/", "pkg/depot/protocol/", "pkg/settings/"}},
	{folder: "pkg/change/", ours: []string{"pkg/contract/", "pkg/upgrade/"}},
	{folder: "pkg/reconciler/provisioning/plan/", ours: []string{"pkg/apis/", "pkg/change/", "pkg/contract/", "pkg/health/", "pkg/hosts/", "pkg/inventory/", "pkg/nodemeta/", "pkg/plugin/", "pkg/runs/", "pkg/software/"}},
	{folder: "pkg/reconciler/nodemeta/", ours: []string{"pkg/access/", "pkg/apis/", "pkg/client/", "pkg/contract/", "pkg/nodemeta/", "pkg/reconciler/events/", "pkg/reconciler/provisioning/resources/"}},
	{folder: "pkg/reconciler/provisioning/observe/", ours: []string{"pkg/apis/", "pkg/change/", "pkg/contract/", "pkg/hosts/", "pkg/reconciler/provisioning/plan/", "pkg/reconciler/provisioning/resources/", "pkg/runs/", "pkg/settings/", "pkg/ssh/"}},
	{folder: "pkg/reconciler/provisioning/", ours: []string{"pkg/access/", "pkg/apis/", "pkg/backup/", "pkg/change/", "pkg/client/", "pkg/contract/", "pkg/depot/protocol/", "pkg/health/", "pkg/health/monitor/", "pkg/hosts/", "pkg/reconciler/caches/", "pkg/reconciler/nodeskey/", "pkg/reconciler/owned/", "pkg/reconciler/packages/", "pkg/reconciler/provisioning/observe/", "pkg/reconciler/provisioning/plan/", "pkg/reconciler/provisioning/resources/", "pkg/runs/", "pkg/secretvars/", "pkg/settings/", "pkg/software/", "pkg/ssh/"}},
	{folder: "pkg/reconciler/software/", ours: []string{"pkg/apis/", "pkg/client/", "pkg/contract/", "pkg/depot/protocol/", "pkg/reconciler/caches/", "pkg/reconciler/packages/", "pkg/software/"}},
	{folder: "pkg/reconciler/backup/plan/", ours: []string{"pkg/apis/", "pkg/backup/", "pkg/contract/", "pkg/runs/", "pkg/settings/"}, foreign: []string{"k8s.io/api/", "k8s.io/apimachinery/"}},
	{folder: "pkg/reconciler/backup/", ours: []string{"pkg/apis/", "pkg/artifacts/", "pkg/backup/", "pkg/client/", "pkg/contract/", "pkg/depot/client/", "pkg/depot/protocol/", "pkg/reconciler/backup/plan/", "pkg/reconciler/caches/", "pkg/reconciler/nodeskey/", "pkg/reconciler/owned/", "pkg/runs/", "pkg/settings/"}},
	{folder: "pkg/survey/", ours: []string{"pkg/contract/", "pkg/machine/", "pkg/ssh/", "pkg/tasks/node/"}, foreign: []string{"golang.org/x/sync/"}},
	{folder: "pkg/adopt/", ours: []string{"pkg/apis/", "pkg/change/", "pkg/contract/", "pkg/hosts/", "pkg/machine/", "pkg/ssh/", "pkg/survey/", "pkg/upgrade/"}, foreign: []string{"k8s.io/api/", "k8s.io/apiextensions-apiserver/pkg/apis/", "sigs.k8s.io/yaml/"}},
	{folder: "pkg/prerequisites/", ours: []string{"pkg/apis/", "pkg/client/"}},
	{folder: "pkg/cli/", ours: []string{"pkg/access/", "pkg/admission/", "pkg/adopt/", "pkg/apis/", "pkg/backup/", "pkg/change/", "pkg/check/", "pkg/reconciler/provisioning/observe/", "pkg/reconciler/provisioning/plan/", "pkg/reconciler/provisioning/resources/", "pkg/contract/", "pkg/hosts/", "pkg/inventory/", "pkg/plugin/", "pkg/runs/", "pkg/secretvars/", "pkg/settings/", "pkg/ssh/", "pkg/survey/", "pkg/tasks/etcd/", "pkg/tasks/node/", "pkg/artifacts/", "pkg/transfer/", "pkg/bundle/", "pkg/depot/client/", "pkg/depot/protocol/", "third_party/cli-runtime/"}},

	{folder: "cmd/", ours: []string{"pkg/"}},
	{folder: "test/", ours: []string{"pkg/", "test/"}},

	// The bootstrap machine is another module and imports nothing of the product.
	{folder: "bootstrap/internal/disk/"},
	{folder: "bootstrap/internal/build/"},
	{folder: "bootstrap/internal/images/"},
	{folder: "bootstrap/internal/kubernetes/"},
	{folder: "bootstrap/manifests/"},
	{folder: "bootstrap/internal/layout/", ours: []string{"bootstrap/internal/disk/"}},
	{folder: "bootstrap/internal/site/", ours: []string{"bootstrap/internal/disk/", "bootstrap/internal/layout/"}},
	{folder: "bootstrap/internal/pki/", ours: []string{"bootstrap/internal/disk/"}},
	{folder: "bootstrap/internal/supervisor/", ours: []string{"bootstrap/internal/disk/"}},
	{folder: "bootstrap/internal/config/", ours: []string{"bootstrap/internal/"}},
	{folder: "bootstrap/internal/host/", ours: []string{"bootstrap/internal/"}},
	{folder: "bootstrap/internal/target/targettest/"},
	{folder: "bootstrap/internal/target/", ours: []string{"bootstrap/internal/target/targettest/"}},
	{folder: "bootstrap/internal/backup/", ours: []string{"bootstrap/internal/"}},
	{folder: "bootstrap/internal/cluster/", ours: []string{"bootstrap/internal/", "bootstrap/manifests/"}},
	{folder: "bootstrap/internal/restore/", ours: []string{"bootstrap/internal/"}},
	{folder: "bootstrap/", ours: []string{"bootstrap/internal/"}},
}

func TestImportsGoOneWay(t *testing.T) {
	for _, p := range append(imports(t, "../..", "./pkg/...", "./cmd/...", "./plugins/...", "./third_party/..."), imports(t, "../../bootstrap", "./...")...) {
		own, ok := rowOf(p.PkgPath)
		if !ok {
			t.Errorf("%s has no rule: give it one in layers", p.PkgPath)
			continue
		}
		for imported := range p.Imports {
			if !layers[own].mayImport(imported + "/") {
				t.Errorf("%s imports %s, which a package under %s may not", p.PkgPath, imported, layers[own].folder)
			}
			if row, ours := rowOf(imported); ours && row > own {
				t.Errorf("%s imports %s, whose row is below: packages import only what is above them in layers", p.PkgPath, imported)
			}
		}
	}
}

// imports returns the packages of the module in dir with their imports.
func imports(t *testing.T, dir string, patterns ...string) []*packages.Package {
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedImports, Dir: dir}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded) < 10 {
		t.Fatalf("only %d packages: is %s the module's folder?", len(loaded), dir)
	}
	return loaded
}

// rowOf returns the index in layers of a package of this repository.
func rowOf(pkg string) (row int, found bool) {
	path, ours := strings.CutPrefix(pkg+"/", module)
	for i, r := range layers {
		if ours && strings.HasPrefix(path, r.folder) && (!found || len(r.folder) > len(layers[row].folder)) {
			row, found = i, true
		}
	}
	return row, found
}

func (r layer) mayImport(path string) bool {
	if ours, ok := strings.CutPrefix(path, module); ok {
		return hasPrefix(ours, append(r.ours, r.folder))
	}
	domain, _, _ := strings.Cut(path, "/")
	standard := !strings.Contains(domain, ".")
	return standard || r.foreign == nil || hasPrefix(path, r.foreign)
}

func hasPrefix(path string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

// TestPurePackagesReachNothing checks that pure packages do not depend on a client, the network or
// processes, directly or indirectly.
func TestPurePackagesReachNothing(t *testing.T) {
	clients := []string{"k8s.io/client-go/kubernetes", "sigs.k8s.io/controller-runtime/pkg/client", module + "pkg/client/clientset/versioned"}
	nothing := append([]string{"k8s.io/apimachinery/pkg/apis/meta/v1", "net/http", "os/exec"}, clients...)
	depcheck.AssertNoDependency(t, map[string][]string{
		module + "pkg/contract":                          nothing,
		module + "pkg/hosts":                             nothing,
		module + "pkg/hosts/assign":                      nothing,
		module + "pkg/hosts/networkdata":                 nothing,
		module + "pkg/inventory":                         nothing,
		module + "pkg/health":                            nothing,
		module + "pkg/check":                             append([]string{module + "pkg/ssh"}, nothing...),
		module + "pkg/shrink":                            nothing,
		module + "pkg/backup":                            clients,
		module + "pkg/reconciler/backup/plan":            clients,
		module + "pkg/ansible":                           nothing,
		module + "pkg/depot/protocol":                    nothing,
		module + "pkg/artifacts":                         nothing,
		module + "pkg/change":                            nothing,
		module + "pkg/plugin":                            append([]string{module + "third_party/helm/engine"}, clients...),
		module + "pkg/plugin/pack":                       append([]string{module + "third_party/helm/engine"}, clients...),
		module + "pkg/upgrade":                           nothing,
		module + "pkg/apis/bpa/v1alpha1":                 clients,
		module + "pkg/settings":                          clients,
		module + "pkg/hosts/hostfile":                    clients,
		module + "pkg/software":                          clients,
		module + "pkg/access":                            clients,
		module + "pkg/contract/from":                     clients,
		module + "pkg/runs":                              clients,
		module + "pkg/reconciler/provisioning/plan":      append([]string{module + "pkg/health/look"}, clients...),
		module + "pkg/reconciler/provisioning/resources": clients,
	})
}

// TestDepotKnowsNoKubernetes checks that these packages of the depot do not depend on Kubernetes.
// Of the packages in pkg/depot/auth, only pkg/depot/auth/kubernetes may depend on it.
func TestDepotKnowsNoKubernetes(t *testing.T) {
	kubernetes := []string{"k8s.io/client-go/rest", "k8s.io/apimachinery/pkg/apis/meta/v1"}
	depcheck.AssertNoDependency(t, map[string][]string{
		module + "pkg/depot":         append([]string{module + "pkg/depot/client"}, kubernetes...), // the server does not use the client
		module + "pkg/depot/auth":    kubernetes,
		module + "pkg/depot/tlscert": kubernetes,
	})
}

// TestProgramsStaySmall checks that programs do not contain libraries that they do not need: the
// depot starts before Kubernetes does, the pod of kubespray does not need the library of the
// controller, the controller and the webhook render no charts, and kubectl bpa has a limit (hack/plugin-builds.sh).
func TestProgramsStaySmall(t *testing.T) {
	depcheck.AssertNoDependency(t, map[string][]string{
		module + "cmd/depot":       {"k8s.io/client-go/kubernetes", "knative.dev/pkg/injection/sharedmain"},
		module + "cmd/controller":  {module + "third_party/helm/engine"}, // rendering a chart takes time and memory without a limit
		module + "cmd/webhook":     {module + "third_party/helm/engine"},
		module + "cmd/kubectl-bpa": {"github.com/tektoncd/pipeline/pkg/apis/pipeline/v1", "helm.sh/helm/v3/pkg/engine"},
		module + "cmd/kubespray":   {"knative.dev/pkg/injection/sharedmain", "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"},
	})
}
