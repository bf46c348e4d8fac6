package provisioning

import (
	"encoding/json"
	"slices"
	"testing"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// earlier is the digest of withTwoWorkers as an earlier version of BPA computed it. In that
// version, the label and the order of workers changed the digest.
const earlier = "sha256:f5fe35078117e11899920753d8dd33ec9ae36420ab00ed36f563f826d5949f9b"

func withTwoWorkers(p *v1alpha1.Provisioning) {
	cpus := func(n int32) v1alpha1.HostRequirements { return v1alpha1.HostRequirements{CPU: n} }
	p.Spec.Masters = []map[string]v1alpha1.Master{{"m-2": {HostRequirements: cpus(8)}}, {"m-1": {HostRequirements: cpus(8)}}, {"m-3": {HostRequirements: cpus(8)}}}
	p.Spec.Workers = []map[string]v1alpha1.Worker{{"w-2": {HostRequirements: cpus(4)}}, {"w-1": {HostRequirements: v1alpha1.HostRequirements{CPU: 16, Memory: "64Gi", SRIOV: true}}}}
}

func relabelled(p *v1alpha1.Provisioning)   { p.Labels["cluster"] = "another" }
func reordered(p *v1alpha1.Provisioning)    { slices.Reverse(p.Spec.Workers) }
func fewerWorkers(p *v1alpha1.Provisioning) { p.Spec.Workers = p.Spec.Workers[:1] }
func otherMasters(p *v1alpha1.Provisioning) { slices.Reverse(p.Spec.Masters) }
func asInstalled(*v1alpha1.Provisioning)    {}

// installedBy returns a cluster that an older version of BPA has installed. digest is the digest of
// the request, as that version computed it. objects are the cluster's run, which records this
// digest, and the ConfigMap with the request of the run. The function installed makes its argument
// the Provisioning of this cluster.
func installedBy(t *testing.T, digest string) (installed func(*v1alpha1.Provisioning), objects []runtime.Object) {
	t.Helper()
	p := edge(withTwoWorkers)
	pr := run(p, 1, ended(corev1.ConditionTrue, "Succeeded"), func(pr *tekton.PipelineRun) { pr.Annotations[contract.AnnotationRequestDigest] = digest })
	objects = append(objects, pr, requestOf(t, pr, p, settings.Depot{}))
	return func(p *v1alpha1.Provisioning) { withTwoWorkers(p); p.Status.InstalledDigest = digest }, objects
}

func reasonOf(t *testing.T, w *fixture) string {
	t.Helper()
	return w.stored(t).Status.GetCondition(v1alpha1.ConditionClusterInstalled).Reason
}

// recordOf returns the record of the cluster that p describes. Each of its nodes is on the host of holding.
func recordOf(t *testing.T, p *v1alpha1.Provisioning) *corev1.ConfigMap {
	t.Helper()
	request, err := from.Provisioning(p, settings.Depot{})
	if err != nil {
		t.Fatal(err)
	}
	installed := contract.Installed{Request: request.Spec}
	for _, slot := range request.Slots {
		installed.Nodes = append(installed.Nodes, contract.Node{Name: slot.Name, Roles: slot.Roles, Host: "host-of-" + slot.Name, HostUID: "uid-" + slot.Name, Address: "10.0.0.1"})
	}
	text, err := json.Marshal(installed)
	if err != nil {
		t.Fatal(err)
	}
	return written(contract.InstalledName(p.Name), contract.KeyInstalled, string(text))
}

// holding returns the claimed hosts of these nodes.
func holding(nodes ...string) *fakeHosts {
	all := held()
	for _, n := range nodes {
		h := all.all[0]
		h.Name, h.UID, h.Node = "host-of-"+n, "uid-"+n, n
		all.all = append(all.all, h)
	}
	all.all = all.all[1:]
	return all
}

// An upgrade of BPA is not a change of the spec, even if the runs were deleted or the last run
// failed. In the first case, only the record and the status describe the installed cluster.
func TestUpgradeWithoutTheRun(t *testing.T) {
	failed := run(edge(withTwoWorkers), 2, ended(corev1.ConditionFalse, "Failed"), func(pr *tekton.PipelineRun) { pr.Annotations[contract.AnnotationRequestDigest] = earlier })
	for name, world := range map[string][]runtime.Object{
		"no run":       {recordOf(t, edge(withTwoWorkers))},
		"a failed run": {failed, requestOf(t, failed, edge(withTwoWorkers), settings.Depot{})},
	} {
		installed, _ := installedBy(t, earlier)
		w := newFixture(t, fitting(), append(world, edge(installed, relabelled), sshKey()), nil)
		w.settle(t)
		if got := w.stored(t).Status; reasonOf(t, w) == plan.ReasonSpecChanged || got.InstalledDigest != earlier {
			t.Errorf("%s: the spec looks changed, or the digest of another build was replaced: %+v", name, got)
		}
	}
}

// An upgrade of BPA is not a change of the spec, whether the label was changed before or after the
// upgrade.
func TestUpgradeIsNoChange(t *testing.T) {
	for name, test := range map[string]struct {
		before, after func(*v1alpha1.Provisioning)
		want          string
	}{
		"nothing changes":                       {asInstalled, asInstalled, plan.ReasonInstalled},
		"a label after the upgrade":             {asInstalled, relabelled, plan.ReasonInstalled},
		"another order after the upgrade":       {asInstalled, reordered, plan.ReasonInstalled},
		"a label before the upgrade":            {relabelled, asInstalled, plan.ReasonInstalled},
		"another order before the upgrade":      {reordered, relabelled, plan.ReasonInstalled},
		"a worker less":                         {asInstalled, fewerWorkers, plan.ReasonSpecChanged},
		"a worker less before the upgrade":      {fewerWorkers, asInstalled, plan.ReasonSpecChanged},
		"another first master, that makes etcd": {asInstalled, otherMasters, plan.ReasonSpecChanged},
	} {
		t.Run(name, func(t *testing.T) {
			installed, objects := installedBy(t, earlier)
			w := newFixture(t, fitting(), append([]runtime.Object{edge(installed, test.before)}, objects...), nil)
			w.settle(t)
			p := w.stored(t)
			test.after(p)
			if _, err := w.bpa.BpaV1alpha1().Provisionings(site).Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			w.sync(t)
			w.settle(t)
			if got := reasonOf(t, w); got != test.want {
				t.Errorf("ClusterInstalled says %s, want %s: %+v", got, test.want, w.stored(t).Status)
			}
		})
	}
}

// TestTwoUpgrades: a build whose digests differ from those of the two builds before it still
// recognizes the cluster. It keeps the stored digest, so that the next build recognizes the cluster
// too.
func TestTwoUpgrades(t *testing.T) {
	const stored = "v3:computed-by-the-first-build"
	started := func(status corev1.ConditionStatus, digest string) *tekton.PipelineRun {
		return run(edge(), 2, ended(status, "Failed"), func(pr *tekton.PipelineRun) { pr.Annotations[contract.AnnotationRequestDigest] = digest })
	}
	for name, test := range map[string]struct {
		status string
		run    *tekton.PipelineRun
		want   string
	}{
		"no run":       {stored, nil, plan.ReasonInstalled},
		"a failed run": {stored, started(corev1.ConditionFalse, stored), "RunFailed"},
		"the run":      {stored, started(corev1.ConditionTrue, stored), plan.ReasonInstalled},
		"a status that the second build has replaced": {"v3:computed-by-the-second-build", nil, plan.ReasonInstalled},
	} {
		t.Run(name, func(t *testing.T) {
			p := edge()
			p.Status.InstalledDigest = test.status
			site, objects := holding("master-1"), []runtime.Object{p, recordOf(t, p)}
			if test.run != nil {
				site, objects = held(), []runtime.Object{p, test.run, requestOf(t, test.run, p, settings.Depot{})}
			}
			w := newFixture(t, site, objects, nil)
			w.settle(t)
			if got := w.stored(t).Status.InstalledDigest; got != test.status {
				t.Errorf("this build stores the digest %s, which the run does not have: want %s", got, test.status)
			}
			if got := reasonOf(t, w); got != test.want {
				t.Errorf("ClusterInstalled says %s, want %s", got, test.want)
			}
		})
	}
}

// If an object was stored before a field had a default, the controller uses the default and does
// not write the spec.
func TestUndefaulted(t *testing.T) {
	bare := &v1alpha1.Provisioning{
		ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: name, UID: "uid-1", Generation: 1, Finalizers: []string{fin}},
		Spec:       v1alpha1.ProvisioningSpec{Masters: []map[string]v1alpha1.Master{{"master-1": {HostRequirements: v1alpha1.HostRequirements{CPU: 8}}}}},
	}
	stored := bare.DeepCopy()
	w := newFixture(t, fitting(), []runtime.Object{bare, sshKey()}, nil)
	w.settle(t)
	want, got := run(edge(), 1), w.runNamed(t, "edge-1-install-1")
	if got == nil {
		t.Fatalf("no run: %+v", w.stored(t).Status)
	}
	for _, key := range []string{contract.AnnotationRequestDigest, resources.AnnotationInputs} {
		if got.Annotations[key] != want.Annotations[key] {
			t.Errorf("%s is %s, want that of an object with defaults, %s", key, got.Annotations[key], want.Annotations[key])
		}
	}
	if now := w.stored(t); now.Labels != nil || now.Spec.SSH != stored.Spec.SSH || now.Spec.PodSubnet != "" {
		t.Errorf("the spec or the labels were written: %v, %+v", now.Labels, now.Spec)
	}
}
