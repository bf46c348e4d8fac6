// Package osimage builds Debian 12 root file systems with mmdebstrap: for the lab's compute nodes,
// for the base of the Ansible task image, and for the tools that kube-proxy runs.
//
// Invariant: a root file system contains only packages of the distribution. It never contains keys,
// addresses, or data of clusters and versions of Kubernetes, so that it is built once and shared.
// The package must not depend on registries or Kubernetes.
package osimage
