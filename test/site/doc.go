// Package site provides a real site for tests and benchmarks: a namespace of the bootstrap cluster for a tenant, and
// one with lab hosts that are granted to it. It has functions for the actions of a user with nothing but the role bpa-edit, such
// as applying a resource and waiting, and for those of an administrator, such as running commands on hosts.
//
// Invariant: every wait is a watch with a time limit. If a wait fails, it prints the state of the
// site. Only tests may import the package.
package site
