// Package garbage removes manifests and blobs that nothing in a depot refers to.
//
// Invariant: a manifest stays if a tag points to it, if the caller keeps it because a cluster uses
// it, or if it refers to a manifest that stays (as a signature does). The package must run while no
// depot serves the store: an upload in progress has blobs that no manifest names yet.
package garbage
