// Package seedregistry is the task seed-registry. It makes sure that the depot has every image and
// file that an installation needs.
//
// The task has two steps. In the first, List runs the playbooks to list the artifacts. In the
// second, Run compares the list with the depot and, on a connected site, fetches missing artifacts.
// They are separate steps because List runs templates from a Provisioning. These templates must not
// be able to read the token for the depot, so only Run has the token.
//
// Invariants: List connects to no host. On a closed site, Run connects only to the depot. This
// package imports no Kubernetes package.
package seedregistry
