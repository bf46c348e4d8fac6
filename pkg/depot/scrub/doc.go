// Package scrub reads all content of a depot and finds content that differs from what was stored: a
// flipped bit, a lost blob, a link that points elsewhere, a signature that is not listed. It
// reports the artifacts, images and files that the damage affects.
//
// Invariant: Run changes nothing. Only SetAside moves damaged blobs.
package scrub
