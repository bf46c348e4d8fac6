// Package node is how tasks reach the nodes of a cluster by SSH: as whom, in which order, and which reason an error has.
//
// Its invariant: nothing is sent to a node whose host key is not the pinned one. It imports no Kubernetes package.
package node
