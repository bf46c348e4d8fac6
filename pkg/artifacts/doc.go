// Package artifacts lists the artifacts that an installation needs from the depot, compares the
// list with the depot's content, and describes the missing artifacts and the commands that bring
// them.
//
// Invariant: each image and file of a List that Parse returns has exactly one place in the depot,
// below the depot's endpoints. The package is pure: no client, no clock, no disk. Package
// depot/client asks a depot for its content. Package transfer copies missing artifacts.
package artifacts
