package provisioning

import (
	"crypto/rand"
	"testing"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/nodeskey"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/ssh"
)

// TestNodesKey: a cluster has one key, which stays, and which belongs to its Provisioning. A key that is lost or damaged is
// replaced by another one.
func TestNodesKey(t *testing.T) {
	w := newFixture(t, held(), []runtime.Object{edge(), sshKey()}, nil)
	secrets := w.kube.CoreV1().Secrets(site)
	fingerprint := func() string {
		t.Helper()
		text, _, err := w.controller().ensureNodesKey(t.Context(), edge(), plan.Step{Operation: contract.OperationInstall})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	stored := func() *corev1.Secret {
		t.Helper()
		secret, err := secrets.Get(t.Context(), contract.NodesKeyName(name), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	first := fingerprint()
	secret := stored()
	key, err := ssh.ParseKey(secret.Data[corev1.SSHAuthPrivateKey])
	if err != nil || ssh.Fingerprint(key.PublicKey()) != first || secret.Type != corev1.SecretTypeSSHAuth || !metav1.IsControlledBy(secret, edge()) {
		t.Errorf("Secret of type %s, %v, owned by %v, fingerprint %s", secret.Type, err, secret.OwnerReferences, first)
	}
	if again := fingerprint(); again != first {
		t.Errorf("the second run has key %s, the first one %s", again, first)
	}
	secret.Data[corev1.SSHAuthPrivateKey] = []byte("damaged")
	if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	second := fingerprint()
	if err := secrets.Delete(t.Context(), secret.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if third := fingerprint(); second == first || third == second {
		t.Errorf("keys %s, %s and %s: want three", first, second, third)
	}
}

// TestRunsEnroll: a run that claims hosts enrolls them. Another one does so only if it is not known that the machines
// accept the key of the cluster.
func TestRunsEnroll(t *testing.T) {
	const collect, add = contract.OperationCollect, contract.OperationAddNodes
	for name, test := range map[string]struct {
		operation string
		status    corev1.ConditionStatus
		key       string // of the last run; empty: the one of now
		foreign   bool   // the last run was of an earlier Provisioning
		want      bool
	}{
		"hosts are claimed":               {add, corev1.ConditionTrue, "", false, true},
		"the last run has succeeded":      {collect, corev1.ConditionTrue, "", false, false},
		"the last run has failed":         {collect, corev1.ConditionFalse, "", false, true},
		"the key is another one":          {collect, corev1.ConditionTrue, "SHA256:lost", false, true},
		"of a Provisioning that was here": {collect, corev1.ConditionTrue, "", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, held(), []runtime.Object{edge(), sshKey()}, nil)
			now, err := nodeskey.Ensure(t.Context(), w.kube.CoreV1().Secrets(site), edge(), rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			last := run(edge(), 1, ended(test.status, "Done"), func(pr *tekton.PipelineRun) {
				if pr.Annotations[runs.AnnotationNodesKey] = test.key; test.key == "" {
					pr.Annotations[runs.AnnotationNodesKey] = now
				}
				if test.foreign {
					pr.OwnerReferences[0].UID = "uid-0"
				}
			})
			w.add(t, last, true)
			_, enroll, err := w.controller().ensureNodesKey(t.Context(), edge(), plan.Step{Operation: test.operation})
			if err != nil || enroll != test.want {
				t.Errorf("enroll %t, %v; want %t", enroll, err, test.want)
			}
		})
	}
}
