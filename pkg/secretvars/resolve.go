package secretvars

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Source is an entry of spec.kubespray.varsFrom.
type Source struct {
	Secret, Key string
	Variable    string // the only variable; empty: the key has a YAML mapping of variables
}

// Secret is a Secret that a source names.
type Secret struct {
	Data map[string][]byte
	// Allowed reports that the Secret has the label contract.LabelVars.
	Allowed bool
}

// Resolver reads the variables of a Provisioning.
type Resolver struct {
	Namespace string
	Sources   []Source
	// Get returns a Secret; nil: it does not exist.
	Get func(name string) (*Secret, error)
	// Plain reports whether spec.kubespray.vars has a variable, which wins. Refused returns why a variable
	// cannot be in a Secret; empty: it can.
	Plain   func(variable string) bool
	Refused func(variable string) string
	// Label is the label of a Secret that is allowed, as kubectl label takes it.
	Label string
}

// Resolve returns the variables of the sources. problem says what a user must do before any of them can be used.
func (r Resolver) Resolve() (vars map[string]json.RawMessage, problem string, err error) {
	for i, s := range r.Sources {
		at := fmt.Sprintf("spec.kubespray.varsFrom[%d]: ", i)
		secret, err := r.Get(s.Secret)
		if err != nil {
			return nil, "", err
		}
		found, why := r.read(s, secret)
		if why != "" {
			return nil, at + why, nil
		}
		vars = Merge(vars, found)
	}
	maps.DeleteFunc(vars, func(name string, _ json.RawMessage) bool { return r.Plain(name) })
	return vars, "", nil
}

func (r Resolver) read(s Source, secret *Secret) (vars map[string]json.RawMessage, problem string) {
	if secret == nil {
		return nil, fmt.Sprintf("Secret %[1]s does not exist: create it with `kubectl create secret generic -n %[2]s %[1]s --from-file=%[3]s=FILE; kubectl label secret -n %[2]s %[1]s %[4]s`",
			s.Secret, r.Namespace, s.Key, r.Label)
	}
	if !secret.Allowed {
		return nil, fmt.Sprintf("Secret %[1]s does not have the label that allows its use in a playbook: if it is meant for that, run `kubectl label secret -n %[2]s %[1]s %[3]s`",
			s.Secret, r.Namespace, r.Label)
	}
	text, there := secret.Data[s.Key]
	if !there {
		has := "no key"
		if len(secret.Data) > 0 {
			has = fmt.Sprintf("%q", slices.Sorted(maps.Keys(secret.Data)))
		}
		return nil, fmt.Sprintf("Secret %s has no key %s (it has %s): add the key with `kubectl edit secret -n %s %s`, or correct spec.kubespray.varsFrom",
			s.Secret, s.Key, has, r.Namespace, s.Secret)
	}
	vars, err := Parse(Content{Variable: s.Variable, Text: text})
	if err != nil {
		return nil, fmt.Sprintf("key %s of Secret %s %v: correct it with `kubectl edit secret -n %s %s`", s.Key, s.Secret, err, r.Namespace, s.Secret)
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if why := r.Refused(name); why != "" {
			return nil, fmt.Sprintf("key %s of Secret %s: %s cannot be set from a Secret: %s", s.Key, s.Secret, name, why)
		}
	}
	return vars, ""
}
