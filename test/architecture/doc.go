// Package architecture tests the structure of the repository. It checks the imports of the
// packages, the manifests in config/ and the exit status of .ci/run. It also checks that the list
// of tasks (contract.Tasks, contract.Operations) and the list of kinds (v1alpha1.Kinds) agree with the files. The
// tests read files and run scripts; they need no cluster.
package architecture
