// Package cluster installs the software that BPA needs on the running node (DNS, Metal3 CRDs,
// Tekton), and the project itself.
//
// Invariant: all manifests are applied server-side. A set of manifests that did not change is not
// applied again; only Deploy always applies. The package uses the programs kubectl and ko, which
// this module builds, so that it does not link their libraries.
package cluster
