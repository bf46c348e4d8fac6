package provisioning

import (
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corelisters "k8s.io/client-go/listers/core/v1"
	clock "k8s.io/utils/clock/testing"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// usableKubeconfig returns the Secret with a kubeconfig that is valid for an hour.
func usableKubeconfig(t *testing.T, p *v1alpha1.Provisioning) *corev1.Secret {
	t.Helper()
	key, err := resources.MakeKubeconfigKey(p, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca, certificate := sign(t, string(key.Data[resources.KeyCSR]))
	secret, err := resources.MakeKubeconfigSecret(p, resources.Access{CA: ca, Certificate: certificate, Endpoint: "https://10.0.0.1:6443"}, key)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// TestUsableKubeconfigStays: the results of a run do not replace a kubeconfig that is usable, even if
// the cache does not show it. They replace an expired one with everything that describes its user.
func TestUsableKubeconfigStays(t *testing.T) {
	p := edge(func(p *v1alpha1.Provisioning) {
		p.Annotations = map[string]string{contract.AnnotationRotateKubeconfig: "one"}
	})
	stored, want := usableKubeconfig(t, p), usableKubeconfig(t, p)
	stored.Annotations[contract.AnnotationRotated], stored.Annotations[contract.AnnotationRevoked] = "older", "users"
	stored.Annotations["of-a-user"] = "kept"
	stored.Annotations[contract.AnnotationRestored], want.Annotations[contract.AnnotationRestored] = "b-1 now", "b-1 now"
	for _, tc := range []struct {
		name     string
		at       time.Time
		change   func(*corev1.Secret)
		replaced bool
	}{
		{"usable", now, func(*corev1.Secret) {}, false},
		{"expired", now.Add(2 * time.Hour), func(*corev1.Secret) {}, true},
		{"broken", now, func(s *corev1.Secret) { s.Data = nil }, true},
		{"of before a restore", now, func(s *corev1.Secret) { delete(s.Annotations, contract.AnnotationRestored) }, true},
		{"denied", now, func(s *corev1.Secret) { s.Annotations[contract.AnnotationDenied] = "2026-11-21T09:00:00Z" }, true},
	} {
		have := stored.DeepCopy()
		tc.change(have)
		before := have.DeepCopy()
		(&Reconciler{clock: clock.NewFakePassiveClock(tc.at)}).copyKubeconfig(have, want)
		if !tc.replaced {
			if diff := cmp.Diff(before, have); diff != "" {
				t.Errorf("%s: it was changed (-before +after):\n%s", tc.name, diff)
			}
			continue
		}
		if diff := cmp.Diff(want.Data, have.Data); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if diff := cmp.Diff(map[string]string{contract.AnnotationRotated: "one", contract.AnnotationRevoked: "users", contract.AnnotationRestored: "b-1 now", "of-a-user": "kept"}, have.Annotations); diff != "" {
			t.Errorf("%s: annotations (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestDeniedKubeconfigIsCollectedAgain: a kubeconfig that the cluster denies is not ready. The results of
// the last run, for the key before, do not replace it. A retry starts a run that collects another one.
func TestDeniedKubeconfigIsCollectedAgain(t *testing.T) {
	w := installedCluster(t)
	secrets := w.kube.CoreV1().Secrets(site)
	edit := func(name string, change func(*corev1.Secret)) {
		t.Helper()
		s, err := secrets.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		change(s)
		if _, err := secrets.Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.settle(t)
	if c := w.stored(t).Status.GetCondition(v1alpha1.ConditionKubeconfigReady); !c.IsTrue() {
		t.Fatalf("KubeconfigReady is %s: %s", c.Status, c.Message)
	}
	next, err := resources.MakeKubeconfigKey(w.stored(t), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	edit(contract.KubeconfigKeyName(name), func(s *corev1.Secret) { s.Data = next.Data })
	edit(contract.KubeconfigName(name), func(s *corev1.Secret) {
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[contract.AnnotationDenied] = "2026-11-21T09:00:00Z"
	})
	w.sync(t)
	w.settle(t)
	p := w.stored(t)
	if c := p.Status.GetCondition(v1alpha1.ConditionKubeconfigReady); !c.IsFalse() || c.Reason != plan.ReasonKubeconfigLost || !strings.Contains(c.Message, contract.AnnotationRetry) {
		t.Errorf("KubeconfigReady is %s %s: %s", c.Status, c.Reason, c.Message)
	}
	p.Annotations = map[string]string{contract.AnnotationRetry: "now"}
	if err := w.bpa.Tracker().Update(v1alpha1.SchemeGroupVersion.WithResource("provisionings"), p, site); err != nil {
		t.Fatal(err)
	}
	w.sync(t)
	w.settle(t)
	runs, err := w.tekton.TektonV1().PipelineRuns(site).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(runs.Items) != 2 {
		t.Fatalf("%d runs, %v", len(runs.Items), err)
	}
	started := runs.Items[slices.IndexFunc(runs.Items, func(r tektonv1.PipelineRun) bool { return r.Name != "edge-1-install-1" })]
	if started.Labels[contract.LabelOperation] != contract.OperationCollect {
		t.Errorf("run %s is to %s", started.Name, started.Labels[contract.LabelOperation])
	}
	if request := started.Spec.Params[slices.IndexFunc(started.Spec.Params, func(p tektonv1.Param) bool { return p.Name == contract.ParamCertificateRequest })].Value.StringVal; request != string(next.Data[resources.KeyCSR]) {
		t.Errorf("run %s does not request a certificate for the new user", started.Name)
	}
	secret, err := secrets.Get(t.Context(), contract.KubeconfigName(name), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	k, err := access.ParseKubeconfig(secret.Data[resources.KeyKubeconfig])
	if got := w.request(t).ClusterCA; err != nil || got != string(k.CA) {
		t.Errorf("run %s gets CA %q, %v; the kubeconfig has %q", started.Name, got, err, k.CA)
	}
}

// TestKnownCA: the CA of a kubeconfig counts for the cluster as it is now.
func TestKnownCA(t *testing.T) {
	p := edge()
	secret := func(name, restored string) (*corev1.Secret, string) {
		key, err := resources.MakeKubeconfigKey(p, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		ca, certificate := sign(t, string(key.Data[resources.KeyCSR]))
		s, err := resources.MakeKubeconfigSecret(p, resources.Access{CA: ca, Certificate: certificate, Endpoint: "https://10.0.0.1:6443"}, key)
		if err != nil {
			t.Fatal(err)
		}
		if s.Name = name; restored != "" {
			s.Annotations = map[string]string{contract.AnnotationRestored: restored}
		}
		return s, ca
	}
	kubeconfig, ca := secret(contract.KubeconfigName(p.Name), "")
	restored, restoredCA := secret(contract.KubeconfigName(p.Name), "b-1 now")
	health, healthCA := secret(contract.HealthKubeconfigName(p.Name), "")
	broken := kubeconfig.DeepCopy()
	broken.Data = nil
	installed := plan.Seen{Memory: &contract.Installed{}}
	after := plan.Seen{Memory: &contract.Installed{Restored: "b-1 now"}}
	for _, tc := range []struct {
		name      string
		seen      plan.Seen
		operation string
		secrets   []runtime.Object
		want      string
	}{
		{"a kubeconfig", installed, contract.OperationPlugins, []runtime.Object{kubeconfig, health}, ca},
		{"only that of the health checks", installed, contract.OperationCollect, []runtime.Object{health}, healthCA},
		{"a broken one", installed, contract.OperationCollect, []runtime.Object{broken, health}, healthCA},
		{"none", installed, contract.OperationCollect, nil, ""},
		{"no cluster is installed", plan.Seen{}, contract.OperationInstall, []runtime.Object{kubeconfig}, ""},
		{"a restore, which brings the CA of the backup", installed, contract.OperationRestore, []runtime.Object{kubeconfig}, ""},
		{"of before a restore", after, contract.OperationCollect, []runtime.Object{kubeconfig, health}, ""},
		{"of after a restore", after, contract.OperationCollect, []runtime.Object{restored, health}, restoredCA},
	} {
		w := newFixture(t, held(), append(tc.secrets, p), nil)
		r := &Reconciler{secrets: corelisters.NewSecretLister(w.caches["secret"])}
		got, err := r.knownCA(p, tc.seen, tc.operation)
		if err != nil || got != tc.want {
			t.Errorf("%s: CA %q, %v; want %q", tc.name, got, err, tc.want)
		}
	}
}

// TestKubeconfigGetsItsLabelsAgain: without its label the cache does not show the Secret.
func TestKubeconfigGetsItsLabelsAgain(t *testing.T) {
	key, err := resources.MakeKubeconfigKey(edge(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca, certificate := sign(t, string(key.Data[resources.KeyCSR]))
	want, err := resources.MakeKubeconfigSecret(edge(), resources.Access{CA: ca, Certificate: certificate, Endpoint: "https://10.0.0.1:6443"}, key)
	if err != nil {
		t.Fatal(err)
	}
	have := want.DeepCopy()
	have.Labels = map[string]string{"of-a-user": "kept"}
	(&Reconciler{clock: clock.NewFakePassiveClock(now)}).copyKubeconfig(have, want)
	if have.Labels[contract.LabelCluster] != name || have.Labels["of-a-user"] != "kept" {
		t.Errorf("labels %v", have.Labels)
	}
}

// TestKubeconfigKeyOfAnotherUser: the next run of a cluster requests a user of its own instead of the one that somebody
// has written into the Secret. A key of BPA stays.
func TestKubeconfigKeyOfAnotherUser(t *testing.T) {
	for what, old := range map[string]bool{"of BPA": false, "of another user": true} {
		key, err := resources.MakeKubeconfigKey(edge(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if old {
			key.Data[resources.KeyCSR] = []byte("for a group")
		}
		w := newFixture(t, fitting(), []runtime.Object{edge(), sshKey(), key}, nil)
		if err := w.visit(t, at); err != nil {
			t.Fatal(err)
		}
		run, err := w.tekton.TektonV1().PipelineRuns(site).Get(t.Context(), "edge-1-install-1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		request := csrOf(run)
		if _, own := access.UserOf([]byte(request)); !own || strings.EqualFold(request, string(key.Data[resources.KeyCSR])) == old {
			t.Errorf("a key %s: the run has the request %s", what, request)
		}
		stored, err := w.kube.CoreV1().Secrets(site).Get(t.Context(), contract.KubeconfigKeyName(name), metav1.GetOptions{})
		if err != nil || string(stored.Data[resources.KeyCSR]) != request {
			t.Errorf("a key %s: stored %s, %v; want the request of the run", what, stored.Data[resources.KeyCSR], err)
		}
	}
}

// TestKubeconfigIsCreatedAgain: a deleted kubeconfig is created again without another run, also if runs came after the
// one that has collected it.
func TestKubeconfigIsCreatedAgain(t *testing.T) {
	w := installedCluster(t)
	exists := func() bool {
		t.Helper()
		_, err := w.kube.CoreV1().Secrets(site).Get(t.Context(), contract.KubeconfigName(name), metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return err == nil
	}
	lose := func() {
		t.Helper()
		if err := w.kube.CoreV1().Secrets(site).Delete(t.Context(), contract.KubeconfigName(name), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.sync(t)
		w.settle(t)
	}
	if lose(); !exists() {
		t.Fatal("the kubeconfig is not created again after the installation")
	}
	w.change(t, wantPlugins("multus"))
	w.settle(t)
	w.finishPlugins(t, "edge-1-plugins-2")
	if lose(); !exists() {
		c := w.stored(t).Status.GetCondition(v1alpha1.ConditionReady)
		t.Errorf("the kubeconfig is not created again after a run for plugins: Ready is %s %s", c.Status, c.Reason)
	}
}
