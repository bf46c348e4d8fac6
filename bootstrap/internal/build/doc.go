// Package build makes the machine's programs from Go modules and remembers what each was made from.
//
// Invariant: a program is built again exactly when its source, flags or Go version changed, or its file is gone.
// It must not know what the programs are for.
package build
