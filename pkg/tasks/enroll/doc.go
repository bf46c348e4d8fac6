// Package enroll is the task enroll, which installs the SSH key of a cluster on its hosts. It is the only task
// that has the SSH key of the site.
//
// Invariants: it runs no playbook, no plugin and no program from outside of BPA. It changes only a machine
// that is the host of one of the run's nodes and has no cluster of another owner. Of the keys that clusters have on
// a machine, at most one is left.
package enroll
