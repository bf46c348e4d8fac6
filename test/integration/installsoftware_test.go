//go:build integration

package integration

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/appcluster"
	"github.com/akraino-icn/bpa/pkg/tasks/installsoftware"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// TestDrainAsAUserOfItsOwn: the user of the task install-software can drain a node of a real cluster, and
// nothing else. A PodDisruptionBudget that allows no eviction keeps the pod.
func TestDrainAsAUserOfItsOwn(t *testing.T) {
	w := newPluginTask(t)
	nodes := w.kube.CoreV1().Nodes()
	if _, err := nodes.Create(w.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "drained-1"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nodes.Delete(w.ctx, "drained-1", metav1.DeleteOptions{}) })
	w.kubelet("default", corev1.PodRunning)
	w.pod("web", "drained-1")
	none := intstr.FromInt32(0)
	budgets := w.kube.PolicyV1().PodDisruptionBudgets("default")
	if _, err := budgets.Create(w.ctx, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = budgets.Delete(w.ctx, "web", metav1.DeleteOptions{}) })

	in := appcluster.Input{Request: w.in.Request, Nodes: w.in.Nodes, PrivateKey: w.in.PrivateKey, Limit: w.in.ConnectLimit}
	config, leave, err := appcluster.EnterAs(w.ctx, in, access.Software, w.in.SignLimit, appcluster.Ports{Dial: node.DialSSH, KnownHosts: w.ports.KnownHosts, Log: &w.taskLog})
	if err != nil {
		t.Fatal(err)
	}
	kube := kubernetes.NewForConfigOrDie(config)
	if _, err := kube.CoreV1().Secrets("").List(w.ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("the user may read Secrets: %v", err)
	}
	d := installsoftware.NewDrainer(kube, &w.taskLog)
	if err := d.Cordon(w.ctx, "drained-1"); err != nil {
		t.Fatal(err)
	}
	if states, err := d.States(w.ctx); err != nil || !states["drained-1"].Ours || !states["drained-1"].Cordoned {
		t.Errorf("states %+v, %v", states, err)
	}
	if err := d.Drain(w.ctx, "drained-1", 3*time.Second); err == nil || !strings.Contains(err.Error(), "disruption budget") || !w.exists("pod/web", "-n", "default") {
		t.Errorf("a drain against a PodDisruptionBudget: %v", err)
	}
	if err := budgets.Delete(w.ctx, "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := d.Drain(w.ctx, "drained-1", time.Minute); err != nil || w.exists("pod/web", "-n", "default") {
		t.Errorf("a drain: %v", err)
	}
	if err := d.Uncordon(w.ctx, "drained-1"); err != nil {
		t.Fatal(err)
	}
	if states, err := d.States(w.ctx); err != nil || states["drained-1"] != (installsoftware.State{}) {
		t.Errorf("after uncordon: %+v, %v", states, err)
	}
	leave()
	w.hasNoUsers("at the end")
	if text := w.taskLog.String(); !strings.Contains(text, "Working as user bpa:edge:software:") {
		t.Errorf("the log:\n%s", text)
	}
}

// pod runs a pod on a node.
func (a *application) pod(name, node string) {
	a.t.Helper()
	no := false
	for {
		_, err := a.kube.CoreV1().Pods("default").Create(a.ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
			Spec:       corev1.PodSpec{NodeName: node, AutomountServiceAccountToken: &no, Containers: []corev1.Container{{Name: name, Image: "registry.example/" + name + ":v1"}}},
		}, metav1.CreateOptions{})
		if err == nil {
			return
		}
		if !apierrors.IsForbidden(err) || a.ctx.Err() != nil { // until the service account of the namespace exists
			a.t.Fatal(err)
		}
	}
}
