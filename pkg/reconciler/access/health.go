package access

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// makeHealth makes or renews the kubeconfig for health checks. The user and the first key are stored
// before the cluster is asked, so that every attempt makes the same user. A renewal keeps the user.
func (w work) makeHealth(ctx context.Context) (done, error) {
	secret, key, u, err := w.healthKey(ctx)
	if err != nil {
		return done{}, err
	}
	if err := w.cluster.Bind(ctx, u); err != nil {
		return done{}, err
	}
	signed, err := w.signed(ctx, u, key, w.facts.forHealth())
	if err != nil {
		return done{}, err
	}
	if old := w.facts.health; old != nil && old.Leaf.NotAfter.After(w.clock.Now()) {
		if err := later(old.Kubeconfig, signed); err != nil {
			return done{}, err
		}
	}
	return done{}, w.storeHealth(ctx, secret, signed)
}

// healthKey returns the Secret for health checks, and the user and the key for which a certificate is
// needed.
func (w work) healthKey(ctx context.Context) (*corev1.Secret, access.Key, access.User, error) {
	have, client := w.secrets.health, w.kube.CoreV1().Secrets(w.p.Namespace)
	u, known := access.ParseUser(w.facts.healthUser)
	switch {
	case w.facts.health != nil: // a renewal
		key, err := access.NewKey(u.String(), w.random)
		return have, key, u, err
	case known:
		return have, access.Key{Private: have.Data[resources.KeyPrivateKey], Request: have.Data[resources.KeyCSR]}, u, nil
	}
	want, u, err := resources.MakeHealthSecret(w.p, w.random)
	if err != nil {
		return nil, access.Key{}, u, err
	}
	if have == nil {
		have, err = client.Create(ctx, want, metav1.CreateOptions{})
		err = failed("create", want.Name, err)
	} else {
		next := have.DeepCopy()
		next.Data = want.Data
		have, err = client.Update(ctx, next, metav1.UpdateOptions{})
		err = failed("update", want.Name, err)
	}
	return have, access.Key{Private: want.Data[resources.KeyPrivateKey], Request: want.Data[resources.KeyCSR]}, u, err
}

// moveHealth gives the kubeconfig for health checks the present address and the CA.
func (w work) moveHealth(ctx context.Context) (done, error) {
	next, have := w.facts.forHealth(), w.facts.health
	next.Certificate, next.Key, next.Leaf = have.Certificate, have.Key, have.Leaf
	return done{}, w.storeHealth(ctx, w.secrets.health, next)
}

func (w work) storeHealth(ctx context.Context, secret *corev1.Secret, k access.Kubeconfig) error {
	value, err := k.Encode()
	if err != nil {
		return fmt.Errorf("health checks: %w", err)
	}
	next := secret.DeepCopy()
	next.Data[resources.KeyKubeconfig] = value
	_, err = w.kube.CoreV1().Secrets(w.p.Namespace).Update(ctx, next, metav1.UpdateOptions{})
	return failed("update", next.Name, err)
}
