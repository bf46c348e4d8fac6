// Package provisioning reconciles Provisionings. Each reconcile observes the state, calls package
// plan to choose one step, applies the step, and reports.
//
// Invariant: all facts are read during the current reconcile, so the controller can be restarted at
// any moment.
//
// Package plan makes the decisions and package resources builds the objects; this package only
// calls the API server.
package provisioning
