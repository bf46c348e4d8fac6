// Package year deals the operations of a cluster's life by a seed: edits of its resources, losses of machines, and
// what else happens to a site in a year. It knows what the cluster is to be after each step, and nothing of how BPA gets
// there. test/e2e plays the steps on a real cluster, and TestWalk of pkg/reconciler/provisioning on a simulated site.
package year
