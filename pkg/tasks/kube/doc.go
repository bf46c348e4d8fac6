// Package kube holds the shared code of tasks that call the bootstrap machine's API server: a store
// of keys in one ConfigMap, and the classification of API errors into failure reasons.
//
// Invariants: the store needs only the verbs get and update on one ConfigMap name. It never creates
// a ConfigMap, so no ConfigMap is left without an owner. An API error counts as permanent unless it
// is a known transient one, and the task is not retried for a permanent error.
package kube
