// Package depot measures the depot as a process. Each time is a ratio to a peer that processes the
// same bytes in the same run: cp and sha256sum, nginx, or the distribution project's registry. No
// cluster is needed.
//
// `make bench` runs it. `BENCH_MIB` is the size of a file in MiB (default 1024). `BENCH_MEMORY_MIB`
// is the size of the file in the memory measurement (default 10240).
package depot
