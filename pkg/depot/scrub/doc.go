// Package scrub reads everything that a depot holds and finds what is not as
// it was stored: a flipped bit, a lost blob, a link that leads elsewhere, a
// signature that nobody is told of. It says which artifact, image or file is hurt
// by it.
//
// Invariant: it changes nothing, unless it is told to set damaged blobs aside.
package scrub
