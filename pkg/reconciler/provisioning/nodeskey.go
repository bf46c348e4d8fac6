package provisioning

import (
	"context"
	"fmt"
	"io"
	"slices"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/owned"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/ssh"
)

// EnsureNodesKey makes sure that the SSH key of a cluster exists, and returns the fingerprint of its public part.
// A key that is lost or damaged is replaced by another one, which the next run installs on the machines.
func EnsureNodesKey(ctx context.Context, secrets owned.Client[*corev1.Secret], p *v1alpha1.Provisioning, random io.Reader) (string, error) {
	name := contract.NodesKeyName(p.Name)
	if have, err := secrets.Get(ctx, name, metav1.GetOptions{}); err == nil && metav1.IsControlledBy(have, p) {
		if key, err := ssh.ParseKey(have.Data[corev1.SSHAuthPrivateKey]); err == nil {
			return ssh.Fingerprint(key.PublicKey()), nil
		}
	}
	made, err := ssh.NewKey(random)
	if err != nil {
		return "", err
	}
	secret, err := owned.Ensure(ctx, p, secrets, resources.MakeNodesKey(p, made), func(have, want *corev1.Secret) {
		if _, err := ssh.ParseKey(have.Data[corev1.SSHAuthPrivateKey]); err != nil {
			have.Data = want.Data
		}
	})
	if err != nil {
		return "", err
	}
	key, err := ssh.ParseKey(secret.Data[corev1.SSHAuthPrivateKey])
	if err != nil {
		return "", fmt.Errorf("key %s of Secret %s %w", corev1.SSHAuthPrivateKey, name, err)
	}
	return ssh.Fingerprint(key.PublicKey()), nil
}

// ensureNodesKey is EnsureNodesKey. enroll means that the run has to install the key: it claims hosts, or it is not
// known that the machines accept the key.
func (r *Reconciler) ensureNodesKey(ctx context.Context, p *v1alpha1.Provisioning, next plan.Step) (fingerprint string, enroll bool, err error) {
	fingerprint, err = EnsureNodesKey(ctx, r.kube.CoreV1().Secrets(p.Namespace), p, r.random)
	if err != nil {
		return "", false, explainForeign(err)
	}
	if contract.OperationOf(next.Operation).Has(contract.TaskSelectHosts) {
		return fingerprint, true, nil
	}
	all, err := r.runs.PipelineRuns(p.Namespace).List(selector(p))
	if err != nil {
		return "", false, fmt.Errorf("list PipelineRuns: %w", err)
	}
	own := slices.DeleteFunc(slices.Clone(all), func(run *tekton.PipelineRun) bool { return !metav1.IsControlledBy(run, p) })
	return fingerprint, !runs.Enrolled(own, fingerprint), nil
}
