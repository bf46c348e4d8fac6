package provisioning

import (
	"context"
	"fmt"
	"maps"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"knative.dev/pkg/kmeta"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
)

// Each run has the ConfigMaps with its request and for its outcome for itself. They are written before the run, which names
// the request by its UID, and belong to the Provisioning until the run exists. Then they belong to the run alone, because
// Kubernetes deletes an object only when its last owner is gone. A request that no run names is never read, and the
// controller reads nothing of an outcome but the findings of its checks, for the status.

// requestOf returns the ConfigMap with the request of a run; nil: it was deleted, or a user has made the
// run. It makes a call only if the cache does not show the ConfigMap of the run: it can be behind that of the runs.
func (r *Reconciler) requestOf(ctx context.Context, p *v1alpha1.Provisioning, run *plan.Run) (*corev1.ConfigMap, error) {
	if run == nil || run.Request.UID == "" {
		return nil, nil
	}
	cm, err := r.configMaps.ConfigMaps(p.Namespace).Get(run.Request.Name)
	if apierrors.IsNotFound(err) || err == nil && cm.UID != run.Request.UID {
		cm, err = r.kube.CoreV1().ConfigMaps(p.Namespace).Get(ctx, run.Request.Name, metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) || err == nil && cm.UID != run.Request.UID {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ConfigMap %s: %w", run.Request.Name, err)
	}
	return cm, nil
}

// ensureOfRun creates the ConfigMap with the request of the next run, or that for its outcome, and returns its UID. A start
// that came to no run, or whose run was deleted, may have left one of the same number. It is used if it has the same
// content, and is deleted otherwise. The caller has made sure that no run has this number.
func (r *Reconciler) ensureOfRun(ctx context.Context, p *v1alpha1.Provisioning, want *corev1.ConfigMap) (types.UID, error) {
	client := r.kube.CoreV1().ConfigMaps(p.Namespace)
	have, err := ensure(ctx, p, client, want, keep)
	if err != nil {
		return "", err
	}
	if ptr.Deref(have.Immutable, false) == ptr.Deref(want.Immutable, false) && maps.Equal(have.Data, want.Data) {
		return have.UID, nil
	}
	err = client.Delete(ctx, have.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(have.UID))})
	if err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("delete ConfigMap %s, which no run has: %w", have.Name, err)
	}
	if have, err = ensure(ctx, p, client, want, keep); err != nil {
		return "", err
	}
	return have.UID, nil
}

// ownRequests makes each run the owner of its request and of its outcome, as soon as the caches show the run and its
// request. The request is the last of the two: as long as p owns it, this is not complete.
func (r *Reconciler) ownRequests(ctx context.Context, p *v1alpha1.Provisioning) error {
	all, err := r.runs.PipelineRuns(p.Namespace).List(selector(p))
	if err != nil {
		return fmt.Errorf("list PipelineRuns: %w", err)
	}
	for _, run := range all {
		name, uid := runs.RequestOf(convert.Run(run))
		cm, err := r.configMap(p, name) // nil if it belongs to the run already
		if err != nil {
			return err
		}
		if cm == nil || uid == "" || cm.UID != uid || !metav1.IsControlledBy(run, p) {
			continue
		}
		live, err := r.configMapLive(ctx, p, name)
		if err != nil || live == nil || live.UID != uid {
			return err // the cache is behind
		}
		for _, name := range []string{contract.OutcomeName(name), name} {
			if err := r.giveToRun(ctx, p, name, run); err != nil {
				return err
			}
		}
	}
	return nil
}

// giveToRun makes a run the only owner of a ConfigMap of p. The reference does not block the deletion of the run. A task of
// the run can write into the ConfigMap at the same time, so a conflict is tried again.
func (r *Reconciler) giveToRun(ctx context.Context, p *v1alpha1.Provisioning, name string, run *tekton.PipelineRun) error {
	owner := *kmeta.NewControllerRef(run)
	owner.BlockOwnerDeletion = nil
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		cm, err := r.configMapLive(ctx, p, name)
		if err != nil || cm == nil {
			return err
		}
		cm = cm.DeepCopy()
		cm.OwnerReferences = []metav1.OwnerReference{owner}
		_, err = r.kube.CoreV1().ConfigMaps(p.Namespace).Update(ctx, cm, metav1.UpdateOptions{})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("make run %s the owner of ConfigMap %s: %w", run.Name, name, err)
	}
	return nil
}
