// Package nodeskey makes the SSH key of a cluster, which the runs of its Provisioning and of its Backups use.
//
// Invariant: a key that can be read is never replaced.
package nodeskey
