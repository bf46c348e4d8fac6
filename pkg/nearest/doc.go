// Package nearest finds the name that a user has perhaps meant, for messages about unknown plugins,
// parameters and fields of files. It has two users that must not import each other.
//
// Invariant: the result is one of the candidates, or empty. The package imports nothing of this repository.
package nearest
