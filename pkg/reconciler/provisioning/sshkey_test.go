package provisioning

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// firstKey and otherKey are private keys in the form that ssh-keygen writes.
var firstKey, otherKey = newKey(""), newKey("")

func newKey(passphrase string) []byte {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	}
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(block)
}

// TestUnusableKey: with an unusable key, no host is claimed and no run is started. The condition
// names the Secret, the key in it, and the command that replaces it.
func TestUnusableKey(t *testing.T) {
	for name, test := range map[string]struct {
		data         map[string][]byte
		reason, says string
	}{
		"malformed":       {map[string][]byte{"ssh-privatekey": firstKey[:60]}, "SSHKeyInvalid", "is not a private key"},
		"with passphrase": {map[string][]byte{"ssh-privatekey": newKey("x")}, "SSHKeyInvalid", "passphrase"},
		"empty":           {map[string][]byte{"ssh-privatekey": nil}, "SSHKeyInvalid", "is empty"},
		"public":          {map[string][]byte{"ssh-privatekey": []byte("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE1hbnkgdGhpbmdzIGFyZSBwdWJsaWMga2V5cyEh me")}, "SSHKeyInvalid", "is a public key"},
		"by another name": {map[string][]byte{"id_ed25519": firstKey}, "SSHKeyMissing", "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			secret := sshKey()
			secret.Data = test.data
			w := newFixture(t, fitting(), []runtime.Object{edge(), secret}, nil)
			if err := w.visit(t, at); err != nil {
				t.Fatal(err)
			}
			for _, call := range w.calls() {
				if strings.HasPrefix(call, "create") {
					t.Errorf("%s, although the key cannot be used", call)
				}
			}
			ready := w.stored(t).Status.GetCondition(v1alpha1.ConditionReady)
			for _, want := range []string{test.says, "Secret ssh-key", "ssh-privatekey", "kubectl create secret generic -n site ssh-key --type=kubernetes.io/ssh-auth"} {
				if ready.Reason != test.reason || !ready.IsFalse() || !strings.Contains(ready.Message, want) {
					t.Errorf("Ready %s %s: %s; want False %s: ...%s...", ready.Status, ready.Reason, ready.Message, test.reason, want)
				}
			}
		})
	}
}

// refused makes run edge-1-install-1 fail because a host rejected its SSH key, which is still in
// the Secret.
func refused(t *testing.T, w *fixture) {
	t.Helper()
	pr, err := w.tekton.TektonV1().PipelineRuns(site).Get(t.Context(), "edge-1-install-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pr.UID, pr.Status.StartTime = "uid-run", &metav1.Time{Time: now}
	w.add(t, child(pr, contract.TaskKubespray, corev1.ConditionFalse, map[string]string{
		contract.ResultFailure: `{"reason":"SSHDenied","host":"master-1","message":"user root may not log in with this key"}`,
	}), true)
	ended(corev1.ConditionFalse, "Failed")(pr)
	if _, err := w.tekton.TektonV1().PipelineRuns(site).Update(t.Context(), pr, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.sync(t)
	w.settle(t)
	w.sync(t)
}

func (w *fixture) runs(t *testing.T) (names []string) {
	t.Helper()
	runs, err := w.tekton.TektonV1().PipelineRuns(site).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs.Items {
		names = append(names, r.Name)
	}
	return names
}

// TestCorrectedKey: after a host rejected the key, the next attempt starts as soon as the Secret
// holds another key. It does not start if the Secret changes but the key does not. The run records
// the fingerprint of its key.
func TestCorrectedKey(t *testing.T) {
	put := func(w *fixture, version string, data []byte) {
		secret := sshKey()
		secret.ResourceVersion, secret.Data[corev1.SSHAuthPrivateKey] = version, data
		if err := w.kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("secrets"), secret, site); err != nil {
			t.Fatal(err)
		}
		w.sync(t)
		for range 2 {
			if err := w.visit(t, at); err != nil {
				t.Fatal(err)
			}
			w.sync(t)
		}
	}
	secret := sshKey()
	secret.ResourceVersion = "1"
	w := newFixture(t, fitting(), []runtime.Object{edge(), secret}, nil)
	w.settle(t)
	run, err := w.tekton.TektonV1().PipelineRuns(site).Get(t.Context(), "edge-1-install-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if print := run.Annotations["bpa.akraino.org/ssh-key"]; !strings.HasPrefix(print, "SHA256:") {
		t.Errorf("the run remembers the key as %q, want its fingerprint", print)
	}
	refused(t, w)
	w.hosts.all = held().all
	w.settle(t)
	w.kube.ClearActions()
	w.tekton.ClearActions()
	w.bpa.ClearActions()
	if err := w.visit(t, at); err != nil {
		t.Fatal(err)
	}
	if calls := w.calls(); len(calls) > 0 {
		t.Errorf("calls in a steady world after a refused key: %q", calls)
	}

	put(w, "2", firstKey)
	if diff := cmp.Diff([]string{"edge-1-install-1"}, w.runs(t)); diff != "" {
		t.Errorf("runs after the Secret was touched (-want +got):\n%s", diff)
	}
	put(w, "3", []byte("nonsense"))
	if ready := w.stored(t).Status.GetCondition(v1alpha1.ConditionClusterInstalled); ready.Reason != "SSHKeyInvalid" {
		t.Errorf("ClusterInstalled %s: %s; want SSHKeyInvalid", ready.Reason, ready.Message)
	}
	put(w, "4", otherKey)
	if diff := cmp.Diff([]string{"edge-1-install-1", "edge-1-install-2"}, w.runs(t)); diff != "" {
		t.Errorf("runs after the key was corrected (-want +got):\n%s", diff)
	}
}

// TestOtherKeyIsNoAnswer: if a run failed for a reason unrelated to the key, another key does not
// start a run. If the Secret is deleted, this does not count as another key.
func TestOtherKeyIsNoAnswer(t *testing.T) {
	denied := map[string]string{contract.ResultFailure: `{"reason":"SSHDenied","host":"master-1"}`}
	failed := map[string]string{contract.ResultFailure: `{"reason":"PlaybookFailed","host":"master-1"}`}
	for name, test := range map[string]struct {
		reason  string
		results map[string]string
		deleted bool
		want    int
	}{
		"a host refused the key":                   {"Failed", denied, false, 2},
		"a user cancelled the run":                 {"Cancelled", nil, false, 1},
		"the playbook failed":                      {"Failed", failed, false, 1},
		"a host refused the key, which is deleted": {"Failed", denied, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			pr := run(edge(), 1, ended(corev1.ConditionFalse, test.reason))
			pr.Annotations[resources.AnnotationSSHKey], pr.Annotations[resources.AnnotationSSHSecret] = "SHA256:old", "1"
			world := []runtime.Object{edge(), pr}
			if test.results != nil {
				world = append(world, child(pr, contract.TaskKubespray, corev1.ConditionFalse, test.results))
			}
			if !test.deleted {
				secret := sshKey()
				secret.ResourceVersion = "2"
				world = append(world, secret)
			}
			w := newFixture(t, held(), world, nil)
			if err := w.visit(t, at); err != nil {
				t.Fatal(err)
			}
			if runs := w.runs(t); len(runs) != test.want {
				t.Errorf("runs %q, want %d", runs, test.want)
			}
			installed := w.stored(t).Status.GetCondition(v1alpha1.ConditionClusterInstalled)
			if test.deleted && installed.Reason != "SSHDenied" {
				t.Errorf("ClusterInstalled says %s, want SSHDenied as before: %s", installed.Reason, installed.Message)
			}
		})
	}
}

// TestKeyOfAnOlderBuild: if a failed run has no record of its key, the key in the Secret does not
// count as another key.
func TestKeyOfAnOlderBuild(t *testing.T) {
	pr := run(edge(), 1, ended(corev1.ConditionFalse, "Failed"))
	tr := child(pr, contract.TaskKubespray, corev1.ConditionFalse, map[string]string{contract.ResultFailure: `{"reason":"SSHDenied"}`})
	w := newFixture(t, held(), []runtime.Object{edge(), sshKey(), pr, tr}, nil)
	w.settle(t)
	if diff := cmp.Diff([]string{"edge-1-install-1"}, w.runs(t)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}
