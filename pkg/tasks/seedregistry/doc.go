// Package seedregistry is the task seed-registry: it sees to it that the depot has every image and file that an installation needs.
//
// It has two steps, since the first runs templates of whoever wrote the Provisioning, and the second has a token for the depot: List has the
// playbooks say what they want, Run compares that with the depot and, on a connected site, fetches what is missing.
//
// Its invariants: List touches no host. Run, on a closed site, connects to nothing but the depot. It imports no Kubernetes package.
package seedregistry
