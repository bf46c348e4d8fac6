// Package kube holds the code of tasks that call the bootstrap machine's API server: a store of keys in one
// ConfigMap, and the classification of API errors into failure reasons.
//
// Invariants: the store needs the verbs get and update on one ConfigMap name, and never creates a ConfigMap, so that
// none is left without an owner. An API error that is not known to be transient counts as permanent, and the task
// is not retried for it.
package kube
