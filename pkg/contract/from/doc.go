// Package from converts a Provisioning and the site's settings into the Request of a run. It also
// computes digests, by which a later reconcile recognizes the state for which a run was started.
//
// Every function is pure: the same Provisioning and settings give the same Request. The reconciler
// and the kubectl plugin share the package, so that a dry run of `kubectl bpa hosts` makes the same
// decisions as the controller. It must import neither of the two, and no client.
package from
