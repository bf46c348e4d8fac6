// Package site provides a real site for tests and benchmarks: a namespace of the bootstrap cluster
// with lab hosts. It has functions for the actions of a user, such as applying a resource, running
// commands on hosts, and waiting.
//
// Invariant: every wait is a watch with a time limit. If a wait fails, it prints the state of the
// site. Only tests may import the package.
package site
