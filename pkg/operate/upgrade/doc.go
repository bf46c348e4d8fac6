// Package upgrade changes the nodes of a cluster in place: their release of Kubernetes and their variables, node by node
// and with a drain (Run), the packages of their operating systems (also Run), and variables that need no drain
// (Configure).
//
// Invariants: an upgrade begins and ends with a healthy cluster, saves etcd before it changes a control plane, and resets
// nothing. Control planes are upgraded one at a time, and only if etcd can spare them. A node that a playbook has begun to
// change has a Target in the record until it is complete. A node that works accepts pods again after a failure; one that
// does not work stays cordoned.
package upgrade
