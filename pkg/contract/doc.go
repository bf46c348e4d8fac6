// Package contract is the agreement between the reconciler and the tasks that it runs: names of labels, objects, params, workspaces and
// results, the closed set of failure reasons, and the request that a run is given.
//
// It holds names and plain data only, so that either side can be tested, and replaced, without the other. It imports no Kubernetes package.
package contract
