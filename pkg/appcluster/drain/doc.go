// Package drain moves the pods of a node of an application cluster to other nodes, by the library of kubectl drain. All
// operations of BPA that drain nodes use it, so that the same pods stay and the same ones leave.
//
// Invariants: a pod leaves only by an eviction, which respects PodDisruptionBudgets. Pods of DaemonSets and static pods
// stay. The package decides nothing about which nodes are drained, when, and what follows; it imports no package of BPA
// but that for texts.
package drain
