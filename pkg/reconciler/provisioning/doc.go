// Package provisioning reconciles Provisionings: it observes the state, calls package plan to
// choose one step, applies the step, and reports.
//
// Its invariant: all facts come from the current reconcile, so a restart at any moment changes
// nothing. Package plan makes the decisions and package resources builds the objects; this package
// only calls the API server.
package provisioning
