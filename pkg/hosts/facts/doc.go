// Package facts reads the facts that package hosts needs from Metal3's objects.
//
// Invariant: missing or malformed values never cause an error, and never make a host look better
// than it is: a host without hardware facts has no CPUs. The package does not talk to an API
// server.
package facts
