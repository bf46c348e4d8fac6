// Package uploads takes artifacts into the depot, in pieces of any size, and
// gives them out again.
//
// Invariant: an artifact is visible from the moment when all its bytes are
// there, durable and checked, and not before; an upload that fails its check
// leaves nothing behind.
//
// Every method that changes an artifact wants its lock held, see Lock.
package uploads
