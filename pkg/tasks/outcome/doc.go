// Package outcome is the last mile of every task: it runs the task's function, writes its results where Tekton reads them and turns
// an error into a reason from the closed set of package contract.
//
// Its invariant: a task that fails always leaves a "failure" result and one readable line in its log. It imports no Kubernetes package.
package outcome
