package provisioning

import (
	"context"
	"fmt"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// revokeHosts removes the access of select-hosts to the namespace's hosts as soon as no
// select-hosts is active. Otherwise, users with the role edit of the namespace could use this
// access, because they can act as the account of select-hosts. revokeHosts looks for the
// RoleBinding in the cache, so it also finds one that an earlier run or an older version of the
// controller left. waits means that the API server itself reports that a select-hosts is still
// active. This task may have to release hosts, so its access stays for now.
func (r *Reconciler) revokeHosts(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, next plan.Step) (waits bool, err error) {
	if next.Do == plan.StartRun || seen.Claiming() { // a run that starts needs the binding, which an earlier reconcile may have created already
		return false, nil
	}
	if p.HostNamespace() != p.Namespace {
		return r.revokeHostsInPool(ctx, p)
	}
	binding, err := r.bindings.RoleBindings(p.Namespace).Get(resources.HostsBindingName(p.Name))
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(binding, p) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get RoleBinding %s: %w", resources.HostsBindingName(p.Name), err)
	}
	if waits, err = r.claimsLive(ctx, p); waits || err != nil {
		return waits, err
	}
	err = r.kube.RbacV1().RoleBindings(p.Namespace).Delete(ctx, binding.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(binding.UID))})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // a conflict means that the cache is stale: the binding in it was already deleted
		return false, fmt.Errorf("delete RoleBinding %s: %w", binding.Name, err)
	}
	return false, nil
}

// revokeHostsInPool is like revokeHosts, if the hosts are in another namespace.
func (r *Reconciler) revokeHostsInPool(ctx context.Context, p *v1alpha1.Provisioning) (waits bool, err error) {
	bindings, err := r.bindings.List(resources.PoolSelector(p.Namespace, p.Name))
	if err != nil || len(bindings) == 0 {
		return false, err
	}
	if waits, err = r.claimsLive(ctx, p); waits || err != nil {
		return waits, err
	}
	return false, r.revokePool(ctx, p.Namespace, p.Name)
}

// claimsLive asks the API server itself whether a select-hosts is active, because the caches may
// lack a run that was just started.
func (r *Reconciler) claimsLive(ctx context.Context, p *v1alpha1.Provisioning) (bool, error) {
	live := plan.Seen{}
	if _, err := r.observeRunsLive(ctx, p, &live); err != nil || live.Claiming() {
		return err == nil, err
	}
	pods, err := r.livePods(ctx, p, labels.Set{pipeline.PipelineTaskLabelKey: contract.TaskSelectHosts}, "")
	return len(pods) > 0, err
}
