// Package artifacts builds the artifacts for an offline installation of a cluster on lab nodes, and
// stores them in the depot: files under their upstream URL paths, images under their upstream
// names, the operating system of the nodes, and the base image of the Ansible tasks.
//
// Invariant: all artifacts are built or packed on this machine from Go modules, Debian packages and
// PyPI. The package downloads nothing from an image registry or a release page. It must not import
// a Kubernetes client.
package artifacts
