// Package status keeps what is installed on the nodes of each cluster: whoever
// installs packages reports a node's list, and people read the cluster's.
//
// Invariant: a report replaces the node's report before it, whole.
package status
