// Package facts reads the facts that package hosts needs from Metal3's objects.
//
// Invariant: a missing or malformed value never causes an error, and never lets a host meet a
// requirement that it does not meet. For example, a host without hardware facts has no CPUs. The
// package does not call an API server.
package facts
