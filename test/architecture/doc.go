// Package architecture tests the structure of the repository: the imports of the packages, the
// manifests in config/, the list of tasks (contract.InstallTasks) and the list of kinds
// (v1alpha1.Kinds), which must agree with the files, and the exit status of .ci/run. The tests
// read files and run scripts; they need no cluster.
package architecture
