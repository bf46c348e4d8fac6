// Package task holds the code that every task shares. It reads the task's workspaces (mounted
// ConfigMaps, one file per key), runs the task's function, writes its results where Tekton reads
// them, and maps an error to a reason from the closed set of package contract.
//
// Invariants: a task that fails always leaves a "failure" result and one readable line in its log.
// A workspace file that is missing, too long or for another Provisioning is an error, never an
// empty answer.
//
// This package imports no Kubernetes package.
package task
