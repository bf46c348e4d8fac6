// Package task holds the code that every task shares. It reads the task's workspaces, which are
// mounted ConfigMaps with one file for each key. It runs the task's function, and writes the
// results where Tekton reads them. It maps an error to one of the failure reasons in package
// contract.
//
// Invariants: a task that fails always leaves a "failure" result and one readable line in its log.
// A workspace file that is missing, too long or for another Provisioning is an error, and is never
// treated as empty.
//
// This package imports no Kubernetes package.
package task
