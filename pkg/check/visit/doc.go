// Package visit asks hosts over SSH for the facts that package check judges.
//
// Invariants: a pinned host key is verified before the script is sent. Each host has its own limit of time and of output, so
// that one that hangs does not hold up the others.
package visit
