// Package garbage removes manifests and blobs that nothing in a depot refers to, and counts what
// the others use.
//
// Invariant: a manifest stays if a tag points to it, if the caller keeps it because a cluster uses
// it, or if it refers to a manifest that stays (as a signature does). A blob stays if a manifest
// that stays needs it, or an upload that is not published yet.
//
// A collection may run while a depot serves the store, if it uses the depot's own *store.Store: the
// depot pins the content on which its operations rely, see package store. A crash at any moment
// leaves only content that the next collection removes.
package garbage
