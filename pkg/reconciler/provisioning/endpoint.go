package provisioning

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// moveEndpoint makes the kubeconfig name another control plane if its present one is lost or has left
// the cluster. It changes seen, so that the status has the new endpoint at once. While nothing has to
// be changed, it makes no call.
func (r *Reconciler) moveEndpoint(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen) error {
	address := seen.MoveEndpoint()
	if address == "" {
		return nil
	}
	secrets, name := r.kube.CoreV1().Secrets(p.Namespace), contract.KubeconfigName(p.Name)
	secret, err := secrets.Get(ctx, name, metav1.GetOptions{}) // objects in the cache are not complete
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(secret, p) {
		return nil // the cache is stale: the next reconcile finds no kubeconfig
	}
	if err != nil {
		return fmt.Errorf("get Secret %s: %w", name, err)
	}
	moved, endpoint, err := resources.MoveKubeconfig(secret, address)
	if err != nil {
		return err
	}
	if moved != nil {
		if _, err := secrets.Update(ctx, moved, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("update Secret %s: %w", name, err)
		}
		recordEvents(ctx, p, []plan.Event{{
			Type: corev1.EventTypeNormal, Reason: "EndpointMoved",
			Message: fmt.Sprintf("the kubeconfig in Secret %s names %s now, because %s is not a control plane any more, or is lost", name, endpoint, seen.Kubeconfig.Endpoint),
		}})
	}
	at := *seen.Kubeconfig
	at.Endpoint = endpoint
	seen.Kubeconfig = &at
	seen.Fix()
	return nil
}
