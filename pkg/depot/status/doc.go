// Package status stores the installed packages of the nodes of each cluster. The program that
// installs packages reports the list of a node, and users read the lists of a cluster.
//
// Invariant: a report replaces the node's earlier report completely.
package status
