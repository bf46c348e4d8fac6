// Package contract contains the names and data types that the reconciler and the tasks of a run
// share: the table of tasks, the names of labels, objects, params, workspaces and results, the
// closed set of failure reasons, and the request of a run. Package from makes a Request from a
// Provisioning.
//
// Invariant: the package contains only names and plain data, so that the reconciler and the tasks
// can be tested and replaced separately. It imports no Kubernetes package.
package contract
