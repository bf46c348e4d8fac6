package provisioning

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/nodeskey"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
	"github.com/akraino-icn/bpa/pkg/ssh"
)

// observeKey reads the SSH key from the API server itself, and checks that it is usable. It runs
// before any host is claimed.
func (r *Reconciler) observeKey(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen) (err error) {
	var problem plan.Need
	seen.SSHKey, problem, err = r.readKey(ctx, p)
	seen.SSH = &problem
	return err
}

// observeKeyChange sets KeyChanged if the newest run failed because a host rejected its SSH key,
// and if the Secret holds another key now. It reads the Secret only if its resourceVersion in the
// cache has changed since the run.
func (r *Reconciler) observeKeyChange(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen) error {
	newest := seen.Newest()
	if seen.Deleting || newest == nil || newest.State != plan.Failed || newest.SSHKey.Fingerprint == "" ||
		plan.Classify(*newest).Reason != contract.ReasonSSHDenied || newest.SSHKey.Version == r.secretVersion(p.Namespace, p.Spec.SSH.Secret()) {
		return nil
	}
	now, problem, err := r.readKey(ctx, p)
	seen.KeyChanged = problem.Reason != plan.ReasonSSHKeyMissing && now.Fingerprint != newest.SSHKey.Fingerprint
	return err
}

// readKey returns the key in the Secret. If there is no usable key, it returns what is missing
// instead.
func (r *Reconciler) readKey(ctx context.Context, p *v1alpha1.Provisioning) (plan.SSHKey, plan.Need, error) {
	name := p.Spec.SSH.Secret()
	create := fmt.Sprintf("kubectl create secret generic -n %s %s --type=%s --from-file=%s=FILE", p.Namespace, name, corev1.SecretTypeSSHAuth,
		corev1.SSHAuthPrivateKey)
	secret, err := r.kube.CoreV1().Secrets(p.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return plan.SSHKey{}, plan.Need{Reason: plan.ReasonSSHKeyMissing, Missing: fmt.Sprintf(
			"Secret %s with the private key to the hosts does not exist: create it with `%s`", name, create)}, nil
	}
	if err != nil {
		return plan.SSHKey{}, plan.Need{}, fmt.Errorf("get Secret %s: %w", name, err)
	}
	text, there := secret.Data[corev1.SSHAuthPrivateKey]
	bad := func(reason, why string) (plan.SSHKey, plan.Need, error) {
		return plan.SSHKey{}, plan.Need{Reason: reason, Missing: fmt.Sprintf(
			"key %s of Secret %s %s; replace the Secret with `kubectl delete secret -n %s %s; %s`; the installation then continues automatically",
			corev1.SSHAuthPrivateKey, name, why, p.Namespace, name, create)}, nil
	}
	if !there {
		return bad(plan.ReasonSSHKeyMissing, "does not exist")
	}
	key, err := ssh.ParseKey(text)
	if err != nil {
		return bad(plan.ReasonSSHKeyInvalid, err.Error())
	}
	return plan.SSHKey{Fingerprint: ssh.Fingerprint(key.PublicKey()), Version: secret.ResourceVersion}, plan.Need{}, nil
}

// ensureNodesKey is EnsureNodesKey. enroll means that the run has to install the key: it claims hosts, or it is not
// known that the machines accept the key.
func (r *Reconciler) ensureNodesKey(ctx context.Context, p *v1alpha1.Provisioning, next plan.Step) (fingerprint string, enroll bool, err error) {
	fingerprint, err = nodeskey.Ensure(ctx, r.kube.CoreV1().Secrets(p.Namespace), p, r.random)
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
	return fingerprint, !runs.Enrolled(convert.Runs(own), fingerprint), nil
}
