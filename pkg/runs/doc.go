// Package runs makes the parts of a run that do not depend on who starts it. The controller starts
// the runs of Provisionings, and `kubectl bpa hosts reset` starts resets of free hosts.
//
// Invariant: the package is pure. It makes Kubernetes objects and does not call an API server.
package runs
