// Package state compares states of machines and clusters, as lines of text that scripts and kubectl have
// printed.
//
// Invariant: the package is pure. A difference is hidden only by a rule that has a reason.
package state
