// Package images makes the few container images that everything else stands on, out of programs that the machine has
// built, and puts them into the depot.
//
// Invariant: the same inputs give the same digest (no times, no owners), so that pushing twice moves nothing.
// It must not start programs.
package images
