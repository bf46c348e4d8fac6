// Package installsoftware is the task install-software, which gives the nodes of an installed cluster the
// packages of the request, and removes those that BPA has installed and nobody requests any more.
//
// It first looks at all nodes. Nodes whose changes need no drain are changed together. The others follow in
// batches, control plane nodes first and one by one: they are cordoned and drained, changed, rebooted if a
// package needs it, and accept pods again. It stores the record of all nodes after each step.
//
// Invariants: a package or a node that fails does not keep others from being changed, and the task succeeds.
// It fails only for what prevents the work, and after a node that does not come back or starts no pod no other
// node is drained. Etcd is asked before a control plane is drained, and before it boots. A node that a person has
// cordoned stays cordoned; a node that the task has cordoned is uncordoned at its end or by the next run. It calls
// the API server of the cluster only to drain nodes, as a user of its own, and to start pods, as the administrator.
package installsoftware
