// Package plan is the state machine of a Provisioning: Next chooses one step from the observed
// state, and Report writes the status.
//
// Invariants: a host is released only if it is certain that nothing works on it any more. In an
// unchanged state, the step is Stay.
//
// The package is pure: time is an argument, and it imports no client and no types of Tekton or
// Metal3.
package plan
