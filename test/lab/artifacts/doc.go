// Package artifacts puts into the depot everything that lab nodes need to become a Kubernetes cluster without any other
// network: files under their upstream URL paths, images under their upstream names, the nodes' own operating system and
// the Ansible task image's base.
//
// Its one invariant: what is in the depot was built or packed on this machine from Go modules, Debian packages and PyPI;
// nothing is fetched from an image registry or a release page. It imports no Kubernetes client.
package artifacts
