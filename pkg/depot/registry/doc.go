// Package registry serves /v2/: the distribution project's registry as a library, and around it the behavior that the
// library lacks: reserved repositories, limits on pushes, referrers, manifest checks, blobs under other digests.
//
// Invariants: repositories that the depot keeps for itself are written through /v1 only, and memory use does not grow
// with blob size.
package registry
