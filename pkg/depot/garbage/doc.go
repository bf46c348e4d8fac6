// Package garbage frees what nothing in a depot refers to.
//
// Invariant: what a tag leads to, and what its caller keeps because a cluster
// uses it, stays. It must run while no depot serves the store: an upload that
// is under way refers to blobs that no manifest names yet.
package garbage
