// Package depot measures the depot as a process, each figure as a ratio to a named peer on the same bytes in the same run: cp and sha256sum, nginx,
// the distribution project's own registry. No cluster is needed. `make bench` runs it; `BENCH_MIB` (default 1024) is the size of a file, and
// `BENCH_MEMORY_MIB` (default 10240) of the one whose way in and out is watched for memory.
package depot
