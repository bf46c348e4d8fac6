package access

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/access/cluster"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// revoke deletes the rights of all users that no Secret names, except those of an active task. It reads the Secrets after the bindings
// were listed, so that a user whom another action stores and binds meanwhile keeps its rights.
func (w work) revoke(ctx context.Context) (done, error) {
	f, s := w.facts, w.secrets
	keep := func(ctx context.Context) (keeps func(access.User) bool, err error) {
		if s, err = w.live(ctx, w.p); err != nil {
			return nil, err
		}
		if f = observe(w.p, s); f.kubeconfig == nil || f.kubeconfig.name() != w.facts.kubeconfig.name() {
			return nil, fmt.Errorf("read Secret %s: %w", contract.KubeconfigName(w.p.Name), errChanged)
		}
		return f.keeps, nil
	}
	revoked, err := w.cluster.Revoke(ctx, access.RevokedUsers(f.revoked), keep)
	if err != nil {
		return done{}, err
	}
	next := s.kubeconfig.DeepCopy()
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[contract.AnnotationRevoked] = f.wantRevoked()
	if _, err := w.kube.CoreV1().Secrets(w.p.Namespace).Update(ctx, next, metav1.UpdateOptions{}); err != nil {
		return done{}, failed("update", next.Name, err)
	}
	if len(revoked) == 0 {
		return done{}, nil
	}
	return done{reason: "KubeconfigsRevoked", message: "the cluster refuses all kubeconfigs of " + strings.Join(revoked, ", ") + " now"}, nil
}

// check asks the cluster whether it accepts the kubeconfig. If it does, and denies the health checks,
// their user gets its rights again.
func (w work) check(ctx context.Context) (done, error) {
	if err := w.denied(ctx); err != nil {
		return done{}, err
	}
	if w.facts.denied == "" {
		return done{}, w.repairHealth(ctx)
	}
	next := w.secrets.kubeconfig.DeepCopy()
	delete(next.Annotations, contract.AnnotationDenied)
	if _, err := w.kube.CoreV1().Secrets(w.p.Namespace).Update(ctx, next, metav1.UpdateOptions{}); err != nil {
		return done{}, failed("update", next.Name, err)
	}
	return done{reason: "KubeconfigAccepted", message: "the cluster accepts the kubeconfig in Secret " + next.Name + " again"}, nil
}

// denied returns nil if the cluster accepts the kubeconfig. If it denies it, the kubeconfig is marked,
// and a run can collect another one. Before that, the stored key is replaced: the certificate of the last
// run has a user that the cluster does not know any more, and must not be stored again.
func (w work) denied(ctx context.Context) error {
	denied, err := w.cluster.Denied(ctx)
	if err != nil || !denied {
		return err
	}
	since := w.facts.denied
	if since == "" && !w.facts.busy {
		if _, err := w.nextKey(ctx); err != nil {
			return err
		}
		since = w.clock.Now().UTC().Format(time.RFC3339)
		next := w.secrets.kubeconfig.DeepCopy()
		if next.Annotations == nil {
			next.Annotations = map[string]string{}
		}
		next.Annotations[contract.AnnotationDenied] = since
		if _, err := w.kube.CoreV1().Secrets(w.p.Namespace).Update(ctx, next, metav1.UpdateOptions{}); err != nil {
			return failed("update", next.Name, err)
		}
	}
	return fmt.Errorf("the cluster denies its user %s, for example because its ClusterRoleBinding %s was deleted, or etcd was restored. "+
		"To collect another kubeconfig, run `kubectl bpa retry %s -n %s`", w.facts.kubeconfig.name(), w.facts.kubeconfig.user.Binding(), w.p.Name, w.p.Namespace)
}

// repairHealth gives the user of the health checks its rights again. If the cluster still denies it, it
// gets a new certificate.
func (w work) repairHealth(ctx context.Context) error {
	u, have := w.facts.health.user, w.facts.health.Kubeconfig
	if err := w.cluster.Bind(ctx, u); err != nil {
		return err
	}
	kube, disconnect, err := w.connect(have)
	if err != nil {
		return err
	}
	defer disconnect()
	if cluster.New(kube, w.p.Name).Verify(ctx, u, verifyLimit) == nil {
		return nil
	}
	key, err := access.NewKey(u.String(), w.random)
	if err != nil {
		return err
	}
	signed, err := w.signed(ctx, u, key, w.facts.kubeconfig.Kubeconfig)
	if err != nil {
		return err
	}
	return w.storeHealth(ctx, w.secrets.health, signed)
}
