package access

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// secrets are the Secrets of one cluster; nil: there is none.
type secrets struct {
	kubeconfig, key, health *corev1.Secret
}

var errNotOwned = errors.New("a name is taken")

// cached reads the Secrets from the cache, live from the API server.
func (r *Reconciler) cached(p *v1alpha1.Provisioning) (secrets, error) {
	s, err := read(p, func(name string) (*corev1.Secret, error) { return r.secrets.Secrets(p.Namespace).Get(name) })
	if errors.Is(err, errNotOwned) {
		err = nil // act reports it
	}
	return s, err
}

func (r *Reconciler) live(ctx context.Context, p *v1alpha1.Provisioning) (secrets, error) {
	return read(p, func(name string) (*corev1.Secret, error) {
		return r.kube.CoreV1().Secrets(p.Namespace).Get(ctx, name, metav1.GetOptions{})
	})
}

func read(p *v1alpha1.Provisioning, get func(name string) (*corev1.Secret, error)) (s secrets, foreign error) {
	for name, into := range map[string]**corev1.Secret{
		contract.KubeconfigName(p.Name): &s.kubeconfig, contract.KubeconfigKeyName(p.Name): &s.key, contract.HealthKubeconfigName(p.Name): &s.health,
	} {
		secret, err := get(name)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return s, fmt.Errorf("get Secret %s: %w", name, err)
		case metav1.IsControlledBy(secret, p):
			*into = secret
		default:
			foreign = fmt.Errorf("%w: Secret %s exists and does not belong to this Provisioning: delete or rename it", errNotOwned, name)
		}
	}
	return s, foreign
}

// observe reads the facts out of the Provisioning and its Secrets.
func observe(p *v1alpha1.Provisioning, s secrets) facts {
	f := facts{rotate: p.Annotations[contract.AnnotationRotateKubeconfig], kubeconfig: parse(s.kubeconfig), health: parse(s.health)}
	if c := p.Status.GetCondition(v1alpha1.ConditionClusterHealthy); c != nil {
		f.lookDenied = c.Reason == v1alpha1.ReasonAccessDenied
	}
	f.restoring = p.Status.IsRestoring()
	if run := p.Status.Run; run != nil {
		f.run, f.active = run.Name, run.CompletionTime == nil
		f.busy = f.active && contract.OperationOf(run.Operation).Has(contract.TaskCollectKubeconfig)
	}
	if s.kubeconfig != nil {
		f.rotated, f.revoked = s.kubeconfig.Annotations[contract.AnnotationRotated], s.kubeconfig.Annotations[contract.AnnotationRevoked]
		f.denied = s.kubeconfig.Annotations[contract.AnnotationDenied]
	}
	if f.active && !f.busy { // the rights of its tasks end with it
		f.run = access.RevokedAfter(f.revoked)
	}
	f.keyUser = requested(s.key, access.Admin)
	if f.health != nil && f.health.user.Kind != access.Health {
		f.health = nil // a user wrote another kubeconfig: it gets a user of its own again
	}
	if f.healthUser = requested(s.health, access.Health); f.health != nil {
		f.healthUser = f.health.name()
	}
	f.direct = direct(p, f.health)
	return f
}

// requested returns the user in the certificate request of a Secret; empty: there is none.
func requested(s *corev1.Secret, kind access.Kind) string {
	if s == nil {
		return ""
	}
	if u, own := access.UserOf(s.Data[resources.KeyCSR]); own && u.Kind == kind {
		return u.String()
	}
	return ""
}

// parse returns the kubeconfig of a Secret; nil: there is none, or it is unusable.
func parse(secret *corev1.Secret) *stored {
	if secret == nil {
		return nil
	}
	k, err := access.ParseKubeconfig(secret.Data[resources.KeyKubeconfig])
	if err != nil {
		return nil
	}
	s := &stored{Kubeconfig: k}
	s.user, s.own = access.ParseUser(k.Leaf.Subject.CommonName)
	s.own = s.own && len(k.Leaf.Subject.Organization) == 0
	return s
}
