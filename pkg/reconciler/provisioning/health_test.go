package provisioning

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/health"
	"github.com/akraino-icn/bpa/pkg/health/monitor"
)

// fakeMonitor looks at nothing. It says what a test has put in.
type fakeMonitor struct {
	watched   *monitor.Cluster
	report    health.Report
	forgotten int
}

func (m *fakeMonitor) Watch(_ key, c monitor.Cluster) { m.watched = &c }

func (m *fakeMonitor) Forget(k key) {
	if k == (key{Namespace: site, Name: name}) {
		m.watched, m.forgotten = nil, m.forgotten+1
	}
}

func (m *fakeMonitor) Report(key) (health.Report, bool) { return m.report, m.watched != nil }

// installedCluster returns a fixture with an installed cluster.
func installedCluster(t *testing.T) *fixture {
	t.Helper()
	w := newFixture(t, fitting(), []runtime.Object{edge(), sshKey()}, nil)
	if err := w.visit(t, at); err != nil {
		t.Fatal(err)
	}
	w.sync(t)
	started, err := w.tekton.TektonV1().PipelineRuns(site).Get(t.Context(), "edge-1-install-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.settle(t)
	if w.health.watched != nil {
		t.Error("a cluster that is being installed is looked at")
	}
	succeed(t, w, started)
	return w
}

// credentials stores the Secret by which the cluster is looked at.
func (w *fixture) credentials(t *testing.T) {
	t.Helper()
	p := w.stored(t)
	w.add(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: name + "-health", UID: "uid-health", ResourceVersion: "7", Labels: map[string]string{contract.LabelCluster: name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(p, v1alpha1.SchemeGroupVersion.WithKind("Provisioning"))}},
		Data: map[string][]byte{"value": []byte("kubeconfig")},
	}, true)
}

// ready returns status and reason of Ready, and status, reason and message of ClusterHealthy.
func (w *fixture) ready(t *testing.T) string {
	t.Helper()
	p := w.stored(t)
	ready, healthy := p.Status.GetCondition(v1alpha1.ConditionReady), p.Status.GetCondition(v1alpha1.ConditionClusterHealthy)
	return strings.Join([]string{string(ready.Status), ready.Reason, "|", string(healthy.Status), healthy.Reason, healthy.Message}, " ")
}

// TestHealth: the status follows what the monitor has seen. When it is reported, nothing more is
// written, and no API server is asked.
func TestHealth(t *testing.T) {
	w := installedCluster(t)
	const unchecked = "True  | Unknown NotChecked nothing looks at the cluster, so Ready says what its last run said: "
	if got, want := w.ready(t), unchecked+"Secret edge-1-health, with the credentials for it, does not exist"; got != want || w.health.watched != nil {
		t.Errorf("without credentials: %s, want %s", got, want)
	}
	w.credentials(t)
	for _, step := range []struct {
		report health.Report
		want   string
		node   v1alpha1.NodeState
	}{
		{health.Report{API: health.APIUnknown}, "True  | Unknown NotChecked the first looks at the cluster are not complete yet", v1alpha1.NodeReady},
		{answers(health.NodeReport{State: health.NodeReady, Version: "1.35.4"}), "True  | True NodesReady the API server answers, and 1 node is Ready", v1alpha1.NodeReady},
		{answers(health.NodeReport{State: health.NodeNotReady, Text: "its kubelet is dead", Since: now}),
			"False NodesNotReady | False NodesNotReady master-1 is not Ready since 2026-11-21T09:00:00Z: its kubelet is dead. What to do: see the log of its kubelet, `ssh root@10.0.0.1 journalctl -u kubelet -n 50`", v1alpha1.NodeNotReady},
		{health.Report{API: health.APISilent, Text: "connection refused", Since: now},
			"Unknown APIUnavailable | Unknown APIUnavailable the API server does not answer since 2026-11-21T09:00:00Z, so the state of the nodes is unknown: connection refused. " +
				"What to do: see the log of the kubelet on a control plane (master-1), `ssh root@10.0.0.1 journalctl -u kubelet -n 50`", v1alpha1.NodeUnknown},
		{health.Report{API: health.APIUnknown, Text: "the API server denies /readyz (401 Unauthorized)", Denied: true},
			"Unknown AccessDenied | Unknown AccessDenied the state of the nodes is unknown: with Secret edge-1-health, the API server denies /readyz (401 Unauthorized). " +
				"BPA gives its looks their rights again if the cluster accepts the kubeconfig. What to do if this stays: see the condition KubeconfigReady and the events; " +
				"if the cluster denies the kubeconfig too, `kubectl bpa retry edge-1 -n site` collects another one", v1alpha1.NodeUnknown},
		{health.Report{API: health.APIUnknown, Text: "the kubeconfig cannot be used: it is empty"},
			"Unknown ChecksStopped | Unknown ChecksStopped nothing looks at the cluster any more: with Secret edge-1-health, the kubeconfig cannot be used: it is empty. The last look has shown: " +
				"the state of the nodes is unknown: with Secret edge-1-health, the API server denies /readyz (401 Unauthorized). " +
				"BPA gives its looks their rights again if the cluster accepts the kubeconfig. What to do if this stays: see the condition KubeconfigReady and the events; " +
				"if the cluster denies the kubeconfig too, `kubectl bpa retry edge-1 -n site` collects another one", v1alpha1.NodeUnknown},
		{answers(health.NodeReport{State: health.NodeReady, Version: "1.35.4"}), "True  | True NodesReady the API server answers, and 1 node is Ready", v1alpha1.NodeReady},
	} {
		w.health.report = step.report
		w.settle(t)
		if got := w.ready(t); got != step.want || w.stored(t).Status.Nodes[0].State != step.node {
			t.Errorf("%s, node %s; want\n%s, node %s", got, w.stored(t).Status.Nodes[0].State, step.want, step.node)
		}
	}
	want := &monitor.Cluster{Kubeconfig: []byte("kubeconfig"), Version: "uid-health/7", Addresses: []string{"10.0.0.1"}, Nodes: []string{"master-1"}, Interval: 15 * time.Second}
	if diff := cmp.Diff(want, w.health.watched); diff != "" {
		t.Errorf("registered clusters (-want +got):\n%s", diff)
	}
	w.settings.HealthInterval = 0
	w.settle(t)
	if got, want := w.ready(t), unchecked+"health-interval in ConfigMap bpa-system/config-bpa is 0"; got != want || w.health.watched != nil {
		t.Errorf("switched off: %s, want %s", got, want)
	}
}

// TestNodeMetadata: the status shows what the labels of a host give its Node, and what BPA has set on it. It stays while the
// host does not exist, because the Node may.
func TestNodeMetadata(t *testing.T) {
	w := installedCluster(t)
	w.credentials(t)
	w.settings.NodeLabels = "airshipit.org/rack: topology.kubernetes.io/zone"
	w.health.report = answers(health.NodeReport{State: health.NodeReady, Version: "1.35.4", Applied: "0123"})
	status := func() string {
		w.settle(t)
		n := w.stored(t).Status.Nodes[0]
		return fmt.Sprint(n.HostLabels, n.AppliedMetadata)
	}
	if got := status(); got != "map[]0123" {
		t.Errorf("a host without the label: %s", got)
	}
	for i := range w.hosts.all {
		w.hosts.all[i].Labels = map[string]string{"airshipit.org/rack": "r7", "other": "x"}
	}
	if got := status(); got != "map[topology.kubernetes.io/zone:r7]0123" {
		t.Errorf("a host with the label: %s", got)
	}
	w.hosts.all = nil
	if got := status(); got != "map[topology.kubernetes.io/zone:r7]0123" {
		t.Errorf("a host that is gone: %s", got)
	}
}

func answers(master health.NodeReport) health.Report {
	return health.Report{API: health.APIAnswers, Nodes: map[string]health.NodeReport{"master-1": master}}
}

// TestHealthDuringARun: the monitor knows on which nodes the active run works, and when it has ended.
func TestHealthDuringARun(t *testing.T) {
	w, _ := upgrading(t)
	w.credentials(t)
	w.settle(t)
	if w.runNamed(t, "edge-1-upgrade-control-plane-2") == nil {
		t.Fatalf("no run; Ready: %+v", w.stored(t).Status.GetCondition(v1alpha1.ConditionReady))
	}
	if got := w.health.watched; got == nil || !slices.Equal(got.Changing, []string{"master-1"}) || len(got.Nodes) != 3 {
		t.Errorf("during the run: %+v", got)
	}
	w.endRun(t, "edge-1-upgrade-control-plane-2")
	w.settle(t)
	if got := w.health.watched; got == nil || len(got.Changing) > 0 {
		t.Errorf("after the run: %+v", got)
	}
}

// endRun lets a run fail.
func (w *fixture) endRun(t *testing.T, name string) {
	t.Helper()
	pr := w.runNamed(t, name)
	ended(corev1.ConditionFalse, "Failed")(pr)
	if _, err := w.tekton.TektonV1().PipelineRuns(site).Update(t.Context(), pr, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.sync(t)
}

// TestHealthOfADeletedCluster: nothing looks at a cluster whose Provisioning is being deleted, or is gone.
func TestHealthOfADeletedCluster(t *testing.T) {
	w := installedCluster(t)
	w.credentials(t)
	w.settle(t)
	if w.health.watched == nil {
		t.Fatal("the cluster is not looked at")
	}
	p := w.stored(t)
	p.DeletionTimestamp = &metav1.Time{Time: now}
	if err := w.bpa.Tracker().Update(v1alpha1.SchemeGroupVersion.WithResource("provisionings"), p, site); err != nil {
		t.Fatal(err)
	}
	w.sync(t)
	_ = w.visit(t, at) // it waits for the reset, which is not under test
	if w.health.watched != nil {
		t.Error("a cluster that is being deleted is looked at")
	}

	handler := forgetDeleted(w.health.Forget)
	for _, o := range []any{p, cache.DeletedFinalStateUnknown{Obj: p}} {
		before := w.health.forgotten
		if handler.OnDelete(o); w.health.forgotten != before+1 {
			t.Errorf("%T: the cluster is still looked at", o)
		}
	}
}
