// Package seedregistry is the task seed-registry. It makes sure that the depot has every image and
// file that an installation needs.
//
// The task has two steps. In the first, List runs the playbooks to list the artifacts. In the
// second, Run compares the list with the depot and, on a connected site, fetches missing artifacts.
// They are separate steps, so that templates in a Provisioning, which List runs, cannot read the
// token for the depot, which Run has.
//
// Invariants: List connects to no host. On a closed site, Run connects only to the depot. This
// package imports no Kubernetes package.
package seedregistry
