// Package bench measures figures of docs/benchmarks.md, with `make bench`. It
// compares the product with a reference in the same run, on the real programs, and
// records the figures with package results.
package bench
