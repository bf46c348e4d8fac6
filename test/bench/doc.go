// Package bench measures what the README claims, as ratios within one run, on real parts: `make bench`.
package bench
