// Package controlplane changes what the control planes of a cluster, and the proxies on its workers, know about each
// other when control planes join, leave or are restored. Kubespray changes this only when it installs a cluster.
//
// Invariants: every step can be repeated, and changes nothing that is right already. API servers and proxies change one
// after the other, so that the others answer. Only what was checked becomes part of a script: addresses that are IP
// addresses, and names that Kubernetes accepts.
package controlplane
