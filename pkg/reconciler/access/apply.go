package access

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/access/cluster"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// Time limits. workLimit bounds one action as a whole.
const (
	signLimit   = time.Minute
	verifyLimit = 15 * time.Second
	workLimit   = 2 * time.Minute
)

// work is one action on one cluster, through the stored kubeconfig.
type work struct {
	*Reconciler
	p       *v1alpha1.Provisioning
	facts   facts
	secrets secrets
	cluster *cluster.Client
}

// apply does the action. It returns what has changed, for the event.
func (r *Reconciler) apply(ctx context.Context, p *v1alpha1.Provisioning, f facts, s secrets, next action) (done, error) {
	kube, disconnect, err := r.connect(f.kubeconfig.Kubeconfig)
	if err != nil {
		return done{}, err
	}
	defer disconnect()
	w := work{Reconciler: r, p: p, facts: f, secrets: s, cluster: cluster.New(kube, p.Name)}
	d, err := w.do(ctx, next)
	if next != check && (apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)) {
		if denied := w.denied(ctx); denied != nil {
			err = denied
		}
	}
	return d, err
}

func (w work) do(ctx context.Context, next action) (done, error) {
	switch next {
	case replaceUser:
		return w.replaceUser(ctx)
	case renew:
		return w.renew(ctx)
	case makeHealth:
		return w.makeHealth(ctx)
	case moveHealth:
		return w.moveHealth(ctx)
	case revoke:
		return w.revoke(ctx)
	case check:
		return w.check(ctx)
	}
	return done{}, fmt.Errorf("unknown action %q", next)
}

// replaceUser gives the kubeconfig a new user. It first stores the key of the new user, so that every
// attempt makes the same user. The old one keeps its rights until the action revoke.
func (w work) replaceUser(ctx context.Context) (done, error) {
	key, err := w.nextKey(ctx)
	if err != nil {
		return done{}, err
	}
	u, _ := access.UserOf(key.Data[resources.KeyCSR])
	if err := w.cluster.Bind(ctx, u); err != nil {
		return done{}, err
	}
	signed, err := w.signed(ctx, u, access.Key{Private: key.Data[resources.KeyPrivateKey], Request: key.Data[resources.KeyCSR]}, w.facts.kubeconfig.Kubeconfig)
	if err != nil {
		return done{}, err
	}
	annotations := map[string]string{}
	if rotated := key.Annotations[contract.AnnotationRotated]; rotated != "" {
		annotations[contract.AnnotationRotated] = rotated
	}
	if err := w.storeKubeconfig(ctx, signed, annotations); err != nil {
		return done{}, err
	}
	message := fmt.Sprintf("Secret %s has the new user %s, valid until %s", w.secrets.kubeconfig.Name, u, day(signed.Leaf.NotAfter))
	if old := w.facts.kubeconfig; !old.own {
		message += fmt.Sprintf("; copies of the previous kubeconfig work until %s, because its user %s is in a group and cannot be revoked alone", day(old.Leaf.NotAfter), old.name())
	}
	return done{reason: "KubeconfigUserReplaced", message: message}, nil
}

// nextKey returns the Secret with the key of the next user. It makes a new one unless an earlier attempt
// has stored it for the same request.
func (w work) nextKey(ctx context.Context) (*corev1.Secret, error) {
	have, client := w.secrets.key, w.kube.CoreV1().Secrets(w.p.Namespace)
	rotated := w.facts.rotated
	if w.facts.rotate != "" && !w.facts.busy {
		rotated = w.facts.rotate
	}
	if have != nil && w.facts.keyUser != "" && w.facts.keyUser != w.facts.kubeconfig.name() && have.Annotations[contract.AnnotationRotated] == rotated {
		return have, nil
	}
	want, err := resources.MakeKubeconfigKey(w.p, w.random)
	if err != nil {
		return nil, err
	}
	want.Annotations = nil
	if rotated != "" {
		want.Annotations = map[string]string{contract.AnnotationRotated: rotated}
	}
	if have == nil {
		made, err := client.Create(ctx, want, metav1.CreateOptions{})
		return made, failed("create", want.Name, err)
	}
	next := have.DeepCopy()
	next.Data, next.Annotations = want.Data, want.Annotations
	made, err := client.Update(ctx, next, metav1.UpdateOptions{})
	return made, failed("update", want.Name, err)
}

// renew gives the kubeconfig a new key and certificate of the same user.
func (w work) renew(ctx context.Context) (done, error) {
	old := w.facts.kubeconfig
	key, err := access.NewKey(old.user.String(), w.random)
	if err != nil {
		return done{}, err
	}
	signed, err := w.signed(ctx, old.user, key, old.Kubeconfig)
	if err != nil {
		return done{}, err
	}
	if err := later(old.Kubeconfig, signed); err != nil {
		return done{}, err
	}
	if err := w.storeKubeconfig(ctx, signed, w.secrets.kubeconfig.Annotations); err != nil {
		return done{}, err
	}
	return done{reason: "KubeconfigRenewed", message: fmt.Sprintf("the kubeconfig in Secret %s is valid until %s; the previous one until %s",
		w.secrets.kubeconfig.Name, day(signed.Leaf.NotAfter), day(old.Leaf.NotAfter))}, nil
}

// later returns an error if a renewal gains nothing. Without it, renewals would follow each other
// without end shortly before the cluster's CA expires.
func later(old, renewed access.Kubeconfig) error {
	if renewed.Leaf.NotAfter.Sub(old.Leaf.NotAfter) < time.Minute {
		return fmt.Errorf("the cluster signs no certificate that is valid after %s: check when its CA expires, and renew the CA", day(renewed.Leaf.NotAfter))
	}
	return nil
}

// signed lets the cluster sign the request of the key, and returns the new kubeconfig after the cluster
// has accepted it.
func (w work) signed(ctx context.Context, u access.User, key access.Key, server access.Kubeconfig) (access.Kubeconfig, error) {
	request, err := access.ParseRequest(key.Request)
	if err != nil {
		return access.Kubeconfig{}, fmt.Errorf("the stored certificate request of %s: %w", u, err)
	}
	certificate, err := w.cluster.Sign(ctx, request, signLimit)
	if err != nil {
		return access.Kubeconfig{}, err
	}
	next := server
	next.Certificate, next.Key, next.Leaf = access.EncodeCertificate(certificate), key.Private, certificate
	kube, disconnect, err := w.connect(next)
	if err != nil {
		return access.Kubeconfig{}, err
	}
	defer disconnect()
	return next, cluster.New(kube, w.p.Name).Verify(ctx, u, verifyLimit)
}

// storeKubeconfig writes the kubeconfig, unless the Secret was changed since it was read.
func (w work) storeKubeconfig(ctx context.Context, k access.Kubeconfig, annotations map[string]string) error {
	next := w.secrets.kubeconfig.DeepCopy()
	value, err := access.ReplaceCertificate(next.Data[resources.KeyKubeconfig], k.Certificate, k.Key)
	if err != nil {
		return err
	}
	next.Data[resources.KeyKubeconfig] = value
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	delete(next.Annotations, contract.AnnotationRotated)
	maps.Copy(next.Annotations, annotations)
	_, err = w.kube.CoreV1().Secrets(w.p.Namespace).Update(ctx, next, metav1.UpdateOptions{})
	return failed("update", next.Name, err)
}

func day(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// errChanged is in errors of writes that failed because the Secret has changed since it was read.
var errChanged = errors.New("it has changed")

func failed(verb, secret string, err error) error {
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err):
		return fmt.Errorf("%s Secret %s: %w (%w)", verb, secret, errChanged, err)
	case err != nil:
		return fmt.Errorf("%s Secret %s: %w", verb, secret, err)
	}
	return nil
}
