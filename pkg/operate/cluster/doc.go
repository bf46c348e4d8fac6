// Package cluster asks and changes the cluster on which a run works: its nodes, pods and members of etcd. It calls the API
// server through the SSH connection to a control plane (Call), and runs kubectl and etcdctl there. It checks the health
// of the cluster, drains nodes, and removes lost ones.
//
// Invariants: if a control plane does not answer, the next question goes to the next one. Only names that Kubernetes accepts become part of a command. A Ready node is never deleted. A member leaves
// etcd only if a healthy majority stays. A drain respects PodDisruptionBudgets, and nodes that keep their pods accept new
// ones again. The record of the cluster is written as complete only after the cluster was seen healthy.
package cluster
