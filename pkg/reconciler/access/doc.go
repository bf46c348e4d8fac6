// Package access keeps the kubeconfigs of installed clusters usable: it renews them at half of their
// life, replaces their users on request, and makes the kubeconfig for health checks. It works through
// the stored kubeconfig, without a run.
//
// It is a reconciler of its own, so that a silent application cluster never delays the reconciler of
// Provisionings. It writes three Secrets and events, and never the status of a Provisioning.
//
// Invariant: a kubeconfig is replaced only by one that the cluster has accepted, and rights are deleted
// only after that. Every step can be repeated after a crash. In a steady world there is no call.
package access
