// Package cluster creates, verifies and removes BPA's users in an application cluster. The task
// collect-kubeconfig and the controller share it.
//
// Invariant: every function can be repeated after a crash. Revoke deletes only bindings that this
// package has created for this Provisioning.
package cluster
