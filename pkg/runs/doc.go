// Package runs has the parts of a run that do not depend on who starts it. The controller starts
// the runs of Provisionings, and `kubectl bpa hosts reset` starts resets of free hosts. The package
// makes PipelineRuns, and finds the cause of a failure in PipelineRuns and TaskRuns that have ended.
//
// Invariant: the package is pure. It makes and reads Kubernetes objects and does not call an API
// server.
package runs
