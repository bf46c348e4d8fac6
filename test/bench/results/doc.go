// Package results keeps the figures of benchmarks: one JSON object per line in a file, and tables of
// them in docs/benchmarks.md.
//
// Invariant: a row of a table exists only because a benchmark recorded its figure. A figure that no
// benchmark recorded again keeps its row and its date. Parse and Update are pure; only Record uses
// files and the clock.
package results
