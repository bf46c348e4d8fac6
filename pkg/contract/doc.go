// Package contract holds what the reconciler, the tasks that it runs, and the packages below both of
// them share: the table of tasks, the names of labels, objects, params, workspaces and results, the
// closed set of failure reasons, and the request of a run. Package from makes a Request from a
// Provisioning.
//
// Invariant: the package holds names and plain data only, so that each side can be tested and replaced
// without the other. It imports no Kubernetes package.
package contract
