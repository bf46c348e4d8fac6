// Package from converts a Provisioning and the site's settings into the Request of a run. It also
// computes the digests from which a later reconcile sees for which state a run was started.
//
// Every function is pure: the same Provisioning and settings give the same Request. The reconciler
// and the kubectl plugin share the package, so a dry run of `kubectl bpa hosts` decides like the
// controller. It must not import either of them, nor a client.
package from
