// Package kube holds the code that tasks share to call the bootstrap machine's API server: a store
// of keys in one ConfigMap, and the mapping of API errors to failure reasons.
//
// Invariants: the store needs only the verbs get and update for one ConfigMap. It never creates a
// ConfigMap, because such a ConfigMap would have no owner. An API error is permanent unless it is
// known to be transient; after a permanent error the task is not retried.
package kube
