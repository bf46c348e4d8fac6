// Package osimage builds Debian 12 root file systems with mmdebstrap: for the lab's compute nodes,
// for the base of the Ansible task image, and for the tools that kube-proxy runs.
//
// Invariant: a root file system contains only packages of the distribution. It contains no keys, no
// addresses, no data of a cluster and no version of Kubernetes. Therefore it is built once and
// shared. The package must not depend on registries or Kubernetes.
package osimage
