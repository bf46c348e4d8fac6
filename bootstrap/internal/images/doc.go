// Package images creates the base container images of the machine from programs that it has built,
// and pushes them to the depot.
//
// Invariant: the same inputs give the same digest (no times, no owners), so that a second push
// transfers nothing. The package must not start programs.
package images
