package upgrade_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/appcluster/apitest"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/upgrade"
)

// fakeWorkload is a workload of the cluster, or an API service.
type fakeWorkload struct {
	kind, namespace, name string
	wanted, available     int
}

// works reports whether all wanted replicas are available.
func (w fakeWorkload) works() bool { return w.available >= w.wanted }

// runs adds a workload "Deployment shop/web" or "APIService name".
func (u *upgrading) runs(what string, available, wanted int) {
	w := fakeWorkload{available: available, wanted: wanted}
	w.kind, w.name, _ = strings.Cut(what, " ")
	if namespace, name, both := strings.Cut(w.name, "/"); both {
		w.namespace, w.name = namespace, name
	}
	u.workloads[what] = &w
}

// object returns the workload as the API server has it.
func (w fakeWorkload) object() runtime.Object {
	about := metav1.ObjectMeta{Namespace: w.namespace, Name: w.name}
	wanted, available := ptr.To(int32(w.wanted)), int32(w.available)
	switch w.kind {
	case "DaemonSet":
		return &appsv1.DaemonSet{ObjectMeta: about, Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: *wanted, NumberAvailable: available}}
	case "StatefulSet":
		return &appsv1.StatefulSet{ObjectMeta: about, Spec: appsv1.StatefulSetSpec{Replicas: wanted}, Status: appsv1.StatefulSetStatus{AvailableReplicas: available}}
	case "ReplicaSet":
		return &appsv1.ReplicaSet{ObjectMeta: about, Spec: appsv1.ReplicaSetSpec{Replicas: wanted}, Status: appsv1.ReplicaSetStatus{AvailableReplicas: available}}
	case "APIService":
		return apiService(w.name, map[string]any{"service": map[string]any{"name": "metrics-server"}}, w.works())
	}
	return &appsv1.Deployment{ObjectMeta: about, Spec: appsv1.DeploymentSpec{Replicas: wanted}, Status: appsv1.DeploymentStatus{AvailableReplicas: available}}
}

func apiService(name string, spec map[string]any, works bool) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": name}, "spec": spec,
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Other", "status": "True"},
			map[string]any{"type": "Available", "status": map[bool]string{true: "True", false: "False"}[works]}}}}}
}

// objects are the workloads, and what does not count: a ReplicaSet of a Deployment, and an API service of the API server.
func (u *upgrading) objects(call apitest.Call) []runtime.Object {
	part := fakeWorkload{kind: "ReplicaSet", namespace: "shop", name: "web-1", wanted: 3}.object().(*appsv1.ReplicaSet)
	part.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment", Name: "web"}}
	all := append([]runtime.Object{part, apiService("v1.", map[string]any{}, false)}, u.leases(call)...)
	for _, w := range u.workloads {
		all = append(all, w.object())
	}
	return all
}

// leases are the Leases of the controller manager and of the nodes. Each is renewed before it is read.
func (u *upgrading) leases(call apitest.Call) (all []runtime.Object) {
	lease := func(namespace, name string, version int) {
		all = append(all, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: fmt.Sprint(version)}})
	}
	switch {
	case call.Resource != "leases":
	case call.Namespace == metav1.NamespaceSystem:
		if u.leaders >= 0 {
			u.leaders++
		}
		lease(call.Namespace, "kube-controller-manager", u.leaders)
	default:
		u.beats++
		for name, ready := range u.Nodes {
			lease(corev1.NamespaceNodeLease, name, map[bool]int{true: u.beats}[ready && !u.silent[name]])
		}
	}
	return all
}

// after calls change when the playbook has ended.
func (u *upgrading) after(change func()) {
	inner := u.Play
	u.Play = func(c processCommand, stdout, stderr io.Writer) int {
		status := inner(c, stdout, stderr)
		u.Mu.Lock()
		defer u.Mu.Unlock()
		change()
		return status
	}
}

// stored returns the stored list.
func (u *upgrading) stored() (n upgrade.Noted) {
	u.T.Helper()
	if err := json.Unmarshal([]byte(u.Installed.Data[contract.KeyAvailable]), &n); err != nil {
		u.T.Fatal(err)
	}
	return n
}

func (u *upgrading) expectNoted(want ...string) {
	u.T.Helper()
	if diff := cmp.Diff(want, u.stored().Names); diff != "" {
		u.T.Errorf("noted (-want +got):\n%s", diff)
	}
}

func (u *upgrading) expectNothingNoted() {
	u.T.Helper()
	if text := u.Installed.Data[contract.KeyAvailable]; text != "" {
		u.T.Errorf("the list is still stored: %s", text)
	}
}
