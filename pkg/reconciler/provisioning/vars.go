package provisioning

import (
	"context"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/secretvars"
)

// varsCache has, by Provisioning, the digests of the variables in Secrets, and the versions of everything from which
// they were computed. It has no value of a variable.
type varsCache struct {
	mu sync.Mutex
	of map[key]readVars
}

type readVars struct {
	versions string
	digests  map[string]string
	problem  string
}

func (c *varsCache) get(k key, versions string) (readVars, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.of[k]
	return found, ok && found.versions == versions
}

func (c *varsCache) put(k key, vars readVars) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[key]readVars{}
	}
	c.of[k] = vars
}

func (c *varsCache) forget(k key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, k)
}

// observeVars returns the digests of the variables in Secrets, and why they cannot be used. As long as they cannot,
// and while the Provisioning is deleted, the digests are the last ones: so nothing else counts as changed. It reads the
// Secrets only if one of their versions is another one than at the last visit.
func (r *Reconciler) observeVars(ctx context.Context, p *v1alpha1.Provisioning, deleting bool) (digests map[string]string, problem string, err error) {
	if len(p.Spec.Kubespray.VarsFrom) == 0 {
		return nil, "", nil
	}
	if deleting {
		return p.Status.SecretVars, "", nil
	}
	key, err := r.ensureVarsKey(ctx, p)
	if err != nil {
		return nil, "", err
	}
	versions := r.versionsOfVars(p, key)
	now, known := r.vars.get(keyOf(p), versions)
	if !known {
		now = readVars{versions: versions}
		if now.digests, now.problem, err = r.readVars(ctx, p, key.Data[secretvars.KeyData]); err != nil {
			return nil, "", err
		}
		r.vars.put(keyOf(p), now)
	}
	if now.problem != "" {
		return p.Status.SecretVars, now.problem, nil
	}
	return now.digests, "", nil
}

// versionsOfVars returns a text that changes when a digest can change.
func (r *Reconciler) versionsOfVars(p *v1alpha1.Provisioning, key *corev1.Secret) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s %s", p.Generation, key.UID, key.ResourceVersion)
	for _, s := range p.Spec.Kubespray.VarsFrom {
		fmt.Fprintf(&b, " %s@%s", s.SecretRef.Name, r.secretVersion(p.Namespace, s.SecretRef.Name))
	}
	return b.String()
}

// readVars reads the Secrets from the API server itself: the caches have none of them.
func (r *Reconciler) readVars(ctx context.Context, p *v1alpha1.Provisioning, key []byte) (digests map[string]string, problem string, err error) {
	vars, problem, err := from.VarsFrom(p, func(name string) (*secretvars.Secret, error) {
		secret, err := r.kube.CoreV1().Secrets(p.Namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("get Secret %s: %w", name, err)
		}
		return from.SecretOf(secret.Data, secret.Labels), nil
	}).Resolve()
	return secretvars.Digests(key, vars), problem, err
}

// ensureVarsKey returns the Secret with the key of the digests, and creates it if there is none.
func (r *Reconciler) ensureVarsKey(ctx context.Context, p *v1alpha1.Provisioning) (*corev1.Secret, error) {
	have, err := r.secret(p, contract.VarsKeyName(p.Name))
	if err != nil || have != nil && len(have.Data[secretvars.KeyData]) == secretvars.KeyBytes {
		return have, err
	}
	key, err := secretvars.NewKey(r.random)
	if err != nil {
		return nil, fmt.Errorf("make the key of the digests of variables: %w", err)
	}
	return ensure(ctx, p, r.kube.CoreV1().Secrets(p.Namespace), resources.MakeVarsKey(p, key), func(have, want *corev1.Secret) {
		if len(have.Data[secretvars.KeyData]) != secretvars.KeyBytes {
			have.Data = want.Data
		}
	})
}
