// Package prerequisites waits until the API server serves the kinds that the controller uses:
// Tekton's and Metal3's.
//
// Invariant: while a kind is missing, the process stays alive and healthy, and the status of every
// Provisioning says what to install. When all kinds exist, the controller starts without a restart.
// Without this package, informers of missing kinds block forever and log nothing.
package prerequisites
