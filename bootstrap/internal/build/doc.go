// Package build builds the machine's programs from Go modules. For each target it stores a stamp: a
// hash of the sources, flags and Go version.
//
// Invariant: a program is rebuilt exactly when its sources, flags or Go version change, or its file
// is missing. The package must not depend on the purpose of any program.
package build
