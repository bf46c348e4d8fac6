// Package osimage makes Debian 12 root file systems with mmdebstrap: the lab's compute nodes, the base of the Ansible task
// image and the few tools that kube-proxy calls.
//
// Its one invariant: a root file system holds packages of the distribution only. Keys, clusters, versions of Kubernetes
// and addresses never enter it, so it is built once and shared. It knows nothing of registries or Kubernetes.
package osimage
