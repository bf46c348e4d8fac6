package provisioning

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// TestUpgradeNeedsNoHost: a newer version starts a run of the upgrade with the site's Pipeline, although a
// worker is lost for which there is no other host.
func TestUpgradeNeedsNoHost(t *testing.T) {
	for _, policy := range []v1alpha1.ReplacePolicy{v1alpha1.ReplaceNever, v1alpha1.ReplaceAny} {
		t.Run(string(policy), func(t *testing.T) {
			w, after := upgrading(t, func(p *v1alpha1.Provisioning) { p.Spec.ReplacePolicy = policy })
			needsNoHost(t, w, after)
		})
	}
}

// upgrading returns a cluster of version 1.34.3 with a lost worker, no free host, and a spec with a newer
// version.
func upgrading(t *testing.T, edits ...func(*v1alpha1.Provisioning)) (*fixture, *v1alpha1.Provisioning) {
	t.Helper()
	version := func(version string) func(*v1alpha1.Provisioning) {
		return func(p *v1alpha1.Provisioning) {
			p.Spec.Kubernetes.Version = version
			p.Spec.Workers = []map[string]v1alpha1.Worker{{"worker-1": {}}, {"worker-2": {}}}
		}
	}
	hosts, nodes := fleet()
	for i, node := range []string{"master-1", "worker-1", "worker-2"} {
		nodes[i].Name, nodes[i].Set = node, ""
		hosts.all[i].Node, hosts.all[i].Set = node, ""
	}
	list, err := json.Marshal(nodes[:3])
	if err != nil {
		t.Fatal(err)
	}
	hosts.all = slices.Delete(hosts.all, 2, len(hosts.all))
	before, after := edge(version("1.34.3")), edge(version("1.35.4"))
	after.Generation = 2
	for _, edit := range edits {
		edit(after)
	}
	request, err := from.Provisioning(before, settings.Depot{})
	if err != nil {
		t.Fatal(err)
	}
	record, err := json.Marshal(contract.Installed{Request: request.Spec, Nodes: nodes[:3]})
	if err != nil {
		t.Fatal(err)
	}
	pr := run(before, 1, ended(corev1.ConditionTrue, "Succeeded"))
	return newFixture(t, hosts, []runtime.Object{after, sshKey(), pr, requestOf(t, pr, before, settings.Depot{}),
		written(contract.InstalledName(after.Name), contract.KeyClaimed, string(list), contract.KeyInstalled, string(record))}, nil), after
}

func needsNoHost(t *testing.T, w *fixture, after *v1alpha1.Provisioning) {
	t.Helper()
	w.settle(t)
	pr := w.runNamed(t, "edge-1-upgrade-control-plane-2")
	if pr == nil {
		t.Fatalf("no run; Ready: %+v", w.stored(t).Status.GetCondition(v1alpha1.ConditionReady))
	}
	if pipeline := pr.Spec.PipelineRef; pipeline == nil || pr.Labels[contract.LabelOperation] != contract.OperationUpgradeControlPlane {
		t.Errorf("the run has the Pipeline %+v and the labels %v", pipeline, pr.Labels)
	}
	got := w.request(t)
	want := &contract.Upgrade{Nodes: []string{"master-1"}, From: "1.34.3", Path: []string{"1.35.4"}, DrainSeconds: 600, DrainsSeconds: 3600}
	if diff := cmp.Diff(want, got.Upgrade); diff != "" || got.KubernetesVersion != "1.35.4" || !slices.Equal(got.Kept, []string{"worker-2"}) {
		t.Errorf("version %s, lost nodes that stay %v (-want +got):\n%s", got.KubernetesVersion, got.Kept, diff)
	}
	u := w.stored(t).Status.Upgrade
	if u == nil || u.From != "1.34.3" || u.Hop != "1.35.4" || u.Total != 3 {
		t.Errorf("status.upgrade is %+v", u)
	}
}
