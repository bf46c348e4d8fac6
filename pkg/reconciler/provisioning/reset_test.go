package provisioning

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"knative.dev/pkg/controller"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// states returns the record of the task kubespray.
func states(all contract.HostStates) *corev1.ConfigMap {
	text, _ := json.Marshal(all)
	return written(contract.InstalledName(name), contract.KeyHosts, string(text))
}

// installed returns the fixture of a cluster on host-1 that is being deleted.
func installed(t *testing.T, record contract.HostStates, change ...func(*v1alpha1.Provisioning)) *fixture {
	t.Helper()
	site := held()
	site.all[0].UID, site.all[0].Node = "host-uid-1", "master-1"
	site.all[0].Labels = map[string]string{contract.LabelRolePrefix + contract.RoleControlPlane: "true"}
	p := edge(append(change, deleting)...)
	p.Status.InstalledDigest = run(p, 1).Annotations[contract.AnnotationRequestDigest]
	return newFixture(t, site, []runtime.Object{p, run(p, 1, ended(corev1.ConditionTrue, "Succeeded")), sshKey(), states(record)}, nil)
}

var used = contract.HostStates{"host-uid-1": contract.HostUsed}

// finish ends the newest run, and records the states of the hosts as the task kubespray does.
func (w *fixture) finish(t *testing.T, status corev1.ConditionStatus, record contract.HostStates) {
	t.Helper()
	ctx := context.Background()
	runs := w.runs(t)
	newest := runs[len(runs)-1]
	pr, err := w.tekton.TektonV1().PipelineRuns(site).Get(ctx, newest, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ended(status, "Failed")(pr)
	if _, err := w.tekton.TektonV1().PipelineRuns(site).Update(ctx, pr, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.kube.CoreV1().ConfigMaps(site).Update(ctx, states(record), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.sync(t)
}

// visits reconciles three times. A deletion asks the API server itself at every reconcile, so it is
// never at rest in the sense of settle.
func (w *fixture) visits(t *testing.T) {
	t.Helper()
	for range 3 {
		if err := w.visit(t, at); err != nil {
			if again, _ := controller.IsRequeueKey(err); !again && !controller.IsSkipKey(err) {
				t.Fatal(err)
			}
		}
		w.sync(t)
	}
	if finalizers := w.stored(t).Finalizers; len(w.hosts.released) == 0 && len(finalizers) != 1 {
		t.Fatalf("finalizers %v before the hosts are released", finalizers)
	}
}

// TestResetWaitsForGarbageCollector: as long as Kubernetes' garbage collector works on a deletion in the
// foreground, it can delete the objects of a run. So the reset starts after that.
func TestResetWaitsForGarbageCollector(t *testing.T) {
	w := installed(t, used, func(p *v1alpha1.Provisioning) { p.Finalizers = append(p.Finalizers, metav1.FinalizerDeleteDependents) })
	visit := func() []string {
		for range 3 {
			if err := w.visit(t, at); err != nil {
				if again, _ := controller.IsRequeueKey(err); !again && !controller.IsSkipKey(err) {
					t.Fatal(err)
				}
			}
			w.sync(t)
		}
		return w.runs(t)
	}
	if runs := visit(); !slices.Equal(runs, []string{"edge-1-install-1"}) {
		t.Fatalf("runs %v while the garbage collector works", runs)
	}
	p := w.stored(t)
	p.Finalizers = slices.DeleteFunc(p.Finalizers, func(f string) bool { return f == metav1.FinalizerDeleteDependents })
	if _, err := w.bpa.BpaV1alpha1().Provisionings(site).Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.sync(t)
	if runs := visit(); !slices.Equal(runs, []string{"edge-1-install-1", "edge-1-reset-2"}) {
		t.Errorf("runs %v after the garbage collector", runs)
	}
}

// TestDeletionResetsTheHosts: the run of the reset has the nodes that are made from the claims, and
// no access to the hosts of the namespace. After it, the host is released without its mark.
func TestDeletionResetsTheHosts(t *testing.T) {
	w := installed(t, used)
	w.visits(t)
	if runs := w.runs(t); !slices.Equal(runs, []string{"edge-1-install-1", "edge-1-reset-2"}) {
		t.Fatalf("runs %v", runs)
	}
	pr, err := w.tekton.TektonV1().PipelineRuns(site).Get(t.Context(), "edge-1-reset-2", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if owner := pr.OwnerReferences[0]; owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion {
		t.Error("the run blocks the deletion of its owner, so that a deletion in the foreground would delete the run")
	}
	want := []contract.Node{{Name: "master-1", Host: "host-1", HostUID: "host-uid-1", Address: "10.0.0.1", Roles: []string{contract.RoleControlPlane}}}
	if diff := cmp.Diff(want, w.request(t).Nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	bindings, err := w.kube.RbacV1().RoleBindings(site).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(bindings.Items) != 2 || bindings.Items[0].Name != "edge-1-enroll" || bindings.Items[1].Name != "edge-1-kubespray" {
		t.Errorf("bindings %v (%v), want only those of the tasks enroll and kubespray", bindings.Items, err)
	}
	if len(w.hosts.released) > 0 {
		t.Fatalf("released %v before the reset", w.hosts.released)
	}

	w.finish(t, corev1.ConditionTrue, contract.HostStates{"host-uid-1": contract.HostClean})
	if err := w.visit(t, at); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(w.hosts.released, []string{"host-1"}) || w.hosts.all[0].UsedBy != (contract.User{}) {
		t.Errorf("released %v, the mark of host-1 is %q; want host-1 without a mark", w.hosts.released, w.hosts.all[0].UsedBy)
	}
	if diff := cmp.Diff([]string{"host-1=site/edge-1 uid-1", "host-1=/ "}, w.hosts.marked); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
}

// TestHostsThatAreNotReset: a host keeps its mark if it did not answer, if the policy is Retain, and
// if its namespace is being deleted, where no run can be created.
func TestHostsThatAreNotReset(t *testing.T) {
	for name, tc := range map[string]struct {
		policy v1alpha1.DeletionPolicy
		act    func(*testing.T, *fixture)
		runs   int
	}{
		"dead": {v1alpha1.DeletionReset, func(t *testing.T, w *fixture) {
			w.visits(t)
			w.finish(t, corev1.ConditionTrue, used)
		}, 2},
		"retained": {v1alpha1.DeletionRetain, func(*testing.T, *fixture) {}, 1},
		"stuck": {v1alpha1.DeletionReset, func(t *testing.T, w *fixture) {
			w.visits(t)
			w.finish(t, corev1.ConditionFalse, used)
			w.visits(t)
			if len(w.hosts.released) > 0 {
				t.Fatal("released after a reset that failed")
			}
			p := w.stored(t)
			p.Spec.DeletionPolicy = v1alpha1.DeletionRetain
			if _, err := w.bpa.BpaV1alpha1().Provisionings(site).Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			w.sync(t)
		}, 2},
		"namespace": {v1alpha1.DeletionReset, func(t *testing.T, w *fixture) {
			w.add(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: site, DeletionTimestamp: &metav1.Time{Time: now}}}, false)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := installed(t, used, func(p *v1alpha1.Provisioning) { p.Spec.DeletionPolicy = tc.policy })
			tc.act(t, w)
			if err := w.visit(t, at); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(w.hosts.released, []string{"host-1"}) || w.hosts.all[0].UsedBy.UID != "uid-1" {
				t.Errorf("released %v, the mark of host-1 is %q; want host-1 with the mark of uid-1", w.hosts.released, w.hosts.all[0].UsedBy)
			}
			if runs := w.runs(t); len(runs) != tc.runs {
				t.Errorf("runs %v, want %d", runs, tc.runs)
			}
			var warned bool
			for len(w.recorder.Events) > 0 {
				warned = strings.Contains(<-w.recorder.Events, "Warning HostsNotReset released host-1") || warned
			}
			if !warned {
				t.Error("no event says that host-1 still contains the cluster")
			}
		})
	}
}

// TestDeletionWithoutARecord: the record of the cluster is lost. All hosts count as used.
func TestDeletionWithoutARecord(t *testing.T) {
	w := installed(t, nil)
	cm := states(nil)
	cm.Data = nil
	if _, err := w.kube.CoreV1().ConfigMaps(site).Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.sync(t)
	w.visits(t)
	if runs := w.runs(t); !slices.Contains(runs, "edge-1-reset-2") || len(w.hosts.released) > 0 {
		t.Errorf("runs %v, released %v; want a reset first", runs, w.hosts.released)
	}
	if diff := cmp.Diff([]string{"host-1=site/edge-1 uid-1"}, w.hosts.marked); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
}

// TestMarksFollowTheRecord: a host is marked as soon as the task kubespray records that it changes
// the host, and a second visit writes nothing.
func TestMarksFollowTheRecord(t *testing.T) {
	site := held()
	site.all[0].UID = "host-uid-1"
	active := run(edge(), 1)
	child(active, contract.TaskKubespray, corev1.ConditionUnknown, nil)
	w := newFixture(t, site, []runtime.Object{edge(), active, states(used)}, nil)
	w.settle(t)
	if diff := cmp.Diff([]string{"host-1=site/edge-1 uid-1"}, site.marked); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
}
