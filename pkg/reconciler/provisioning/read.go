package provisioning

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// readJSON reads JSON that a task wrote into a ConfigMap of p. If the JSON is missing or invalid,
// into stays unchanged and there is no error: a task that writes invalid data must not stop the
// reconciler.
func (r *Reconciler) readJSON(p *v1alpha1.Provisioning, name, key string, into any) error {
	cm, err := r.configMap(p, name)
	if err == nil && cm != nil && cm.Data[key] != "" {
		r.parsed.about(keyOf(p)).readJSON(name, key, cm.Data[key], into)
	}
	return err
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
