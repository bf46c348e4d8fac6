package provisioning

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

// reader reads the objects of a Provisioning from the caches. During a deletion, it asks the API server itself what may
// work on the hosts, and about the hosts: a release does the same, and must not release a host that is missing in the
// cache, and that is therefore not marked.
type reader struct {
	r   *Reconciler
	ctx context.Context
	p   *v1alpha1.Provisioning
}

func (r *Reconciler) reader(ctx context.Context, p *v1alpha1.Provisioning) reader {
	return reader{r, ctx, p}
}

func (c reader) deleting() bool { return c.p.DeletionTimestamp != nil }

// Work implements observe.Reader, as the other methods do.
func (c reader) Work(seen *plan.Seen) error {
	if c.deleting() {
		return c.r.observeDeletion(c.ctx, c.p, seen)
	}
	return c.r.observeRuns(c.p, seen)
}

func (c reader) ConfigMap(name string) (*corev1.ConfigMap, error) { return c.r.configMap(c.p, name) }

func (c reader) Record() (*corev1.ConfigMap, error) {
	if c.deleting() {
		return c.r.configMapLive(c.ctx, c.p, contract.InstalledName(c.p.Name))
	}
	return c.ConfigMap(contract.InstalledName(c.p.Name))
}

func (c reader) RequestOf(run *plan.Run) (*corev1.ConfigMap, error) {
	return c.r.requestOf(c.ctx, c.p, run)
}

func (c reader) Held() ([]hosts.Host, error) {
	if c.deleting() {
		return c.r.hosts.HeldLive(c.ctx, ownerOf(c.p))
	}
	return c.r.hosts.Held(c.ctx, ownerOf(c.p))
}

func (c reader) Named(names []string) ([]hosts.Host, error) {
	return c.r.hosts.Named(c.ctx, c.p.HostNamespace(), names)
}

func (c reader) Parse(object, field string, as reflect.Type, text string, read func(string) any) any {
	return c.r.parsed.about(keyOf(c.p)).parse(source{object, field, as}, text, read)
}

// configMap returns a ConfigMap of p from the cache. It returns nil if there is none.
func (r *Reconciler) configMap(p *v1alpha1.Provisioning, name string) (*corev1.ConfigMap, error) {
	cm, err := r.configMaps.ConfigMaps(p.Namespace).Get(name)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(cm, p) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	return cm, nil
}

// configMapLive is like configMap, but reads from the API server itself.
func (r *Reconciler) configMapLive(ctx context.Context, p *v1alpha1.Provisioning, name string) (*corev1.ConfigMap, error) {
	cm, err := r.kube.CoreV1().ConfigMaps(p.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(cm, p) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	return cm, nil
}

// secret returns a Secret of p from the cache. It returns nil if there is none.
func (r *Reconciler) secret(p *v1alpha1.Provisioning, name string) (*corev1.Secret, error) {
	s, err := r.secrets.Secrets(p.Namespace).Get(name)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(s, p) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get Secret %s: %w", name, err)
	}
	return s, nil
}
