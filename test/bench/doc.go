// Package bench measures the performance figures that the README claims, with `make bench`. It
// compares the product with a reference in the same run, on the real programs.
package bench
