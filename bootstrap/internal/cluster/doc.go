// Package cluster puts onto the running node what makes it a place for BPA: DNS, Metal3's kinds, Tekton and the
// project itself.
//
// Invariant: everything is applied server-side, and what did not change is not applied again. It talks to the cluster
// through kubectl and to the depot through ko, both built by this module, so that it links neither.
package cluster
