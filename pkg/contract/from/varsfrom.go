package from

import (
	"github.com/akraino-icn/bpa/pkg/admission"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/secretvars"
)

// VarsFrom returns how to read the variables of spec.kubespray.varsFrom. get returns a Secret (see
// SecretOf); nil: it does not exist.
func VarsFrom(p *v1alpha1.Provisioning, get func(name string) (*secretvars.Secret, error)) secretvars.Resolver {
	r := secretvars.Resolver{
		Namespace: p.Namespace, Get: get, Label: contract.LabelVars + "=true", Refused: admission.SecretVariable,
		Plain: func(variable string) bool { _, plain := p.Spec.Kubespray.Vars[variable]; return plain },
	}
	for _, s := range p.Spec.Kubespray.VarsFrom {
		r.Sources = append(r.Sources, secretvars.Source{Secret: s.SecretRef.Name, Key: s.SecretRef.KeyOf(), Variable: s.Variable})
	}
	return r
}

// SecretOf returns a Secret for a resolver.
func SecretOf(data map[string][]byte, labels map[string]string) *secretvars.Secret {
	return &secretvars.Secret{Data: data, Allowed: labels[contract.LabelVars] == "true"}
}
