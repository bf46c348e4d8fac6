// Package uploads receives artifacts in pieces of any size, stores them in the depot, and serves
// their content.
//
// Invariant: an artifact becomes visible when all its bytes are stored durably and checked, and not
// before. An upload that fails its check leaves nothing behind.
//
// The caller must hold the artifact's lock for every method that changes it, see Lock.
package uploads
