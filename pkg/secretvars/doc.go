// Package secretvars reads the variables of kubespray that are in Secrets (spec.kubespray.varsFrom): for the
// controller and kubectl-bpa, which compare them by digest, and for the task kubespray, which gives them to Ansible.
//
// Invariants: no error and no digest shows a value, or helps to guess one without the key. Ansible takes the
// values literally: it evaluates no template in them.
//
// It imports no Kubernetes client.
package secretvars
