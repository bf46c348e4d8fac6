// Package garbage frees what nothing in a depot refers to.
//
// Invariant: what a tag leads to, what its caller keeps because a cluster uses
// it, and what refers to such a manifest (its signature), stays. It must run while
// no depot serves the store: an upload that is under way refers to blobs that no
// manifest names yet.
package garbage
