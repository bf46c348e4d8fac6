// Package node gives tasks SSH access to the nodes of a cluster. It knows the login and address of
// a node, the order in which control planes are tried, and the failure reason of an SSH error. It
// also reads workspace files, such as the private key.
//
// Invariant: once the host key of a node is pinned, no command is sent to a machine that has
// another host key. This package imports no Kubernetes package.
package node
