// Package registry serves /v2/. It wraps the distribution project's registry, used as a library,
// with handlers for what the library lacks: reserved repositories, limits on pushes, referrers,
// manifest checks, and sha384 and sha512 digests.
//
// Invariants: clients write the depot's own repositories through /v1 only, and memory use does not
// grow with blob size.
package registry
