// Package architecture tests the structure of the repository: which package may import which, what the
// manifests in config/ contain, that the table of tasks and the list of kinds agree with the files, and
// the exit status of .ci/run. The tests read files; they need no cluster.
package architecture
