package cli

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/change"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/secretvars"
)

// secretVars returns the digests of the variables in Secrets, as the controller computes them. If the user has no right
// to read the Secrets, the digests are those that the controller has read last. problem is then not empty, as it is if
// no run can start.
func (s *site) secretVars(ctx context.Context, p *v1alpha1.Provisioning) (vars map[string]string, problem string, err error) {
	if len(p.Spec.Kubespray.VarsFrom) == 0 {
		return nil, "", nil
	}
	key, err := s.varsSecret(ctx, p, contract.VarsKeyName(p.Name))
	if err == nil {
		vars, problem, err = s.digests(ctx, p, key)
	}
	switch {
	case apierrors.IsForbidden(err):
		return p.Status.SecretVars,
			"you have no right to read the Secrets of spec.kubespray.varsFrom, so the plan has the values that the controller has last read, and no variables of entries that are new", nil
	case err != nil:
		return nil, "", s.explain(err)
	case problem != "":
		return p.Status.SecretVars, "no run starts before this is corrected: " + problem, nil
	}
	return vars, "", nil
}

// digests returns the digests of the variables, or why they cannot be used. Without the key of the digests, which the
// controller makes, all variables count as changed.
func (s *site) digests(ctx context.Context, p *v1alpha1.Provisioning, key *corev1.Secret) (digests map[string]string, problem string, err error) {
	vars, problem, err := from.VarsFrom(p, func(name string) (*secretvars.Secret, error) {
		secret, err := s.varsSecret(ctx, p, name)
		if err != nil || secret == nil {
			return nil, err
		}
		return from.SecretOf(secret.Data, secret.Labels), nil
	}).Resolve()
	if err != nil || problem != "" {
		return nil, problem, err
	}
	var secret []byte
	if key != nil {
		secret = key.Data[secretvars.KeyData]
	}
	return secretvars.Digests(secret, vars), "", nil
}

// varsSecret returns a Secret; nil: it does not exist.
func (s *site) varsSecret(ctx context.Context, p *v1alpha1.Provisioning, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return secret, err
}

// addSecretVars adds the names of the variables that have other values in Secrets than the installed cluster.
func (v *planView) addSecretVars(seen plan.Seen) {
	if seen.Memory != nil {
		v.SecretVars = change.SecretVars(seen.Memory.Request, seen.Request.Spec)
	}
	if seen.Vars != "" && v.Note != "" {
		v.Note += "; "
	}
	v.Note += seen.Vars
}

// nodeVars lists the variables of nodes and node sets that change, as text.
func (v *planView) nodeVars() string {
	if len(v.NodeVars) == 0 {
		return ""
	}
	return fmt.Sprintf("\nVariables of single nodes and node sets that change: %s.\n", strings.Join(v.NodeVars, ", "))
}

// secrets lists these variables, as text.
func (v *planView) secrets() string {
	if len(v.SecretVars) == 0 {
		return ""
	}
	return fmt.Sprintf("\nVariables with other values in Secrets: %s.\n", strings.Join(v.SecretVars, ", "))
}
