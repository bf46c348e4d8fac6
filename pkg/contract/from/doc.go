// Package from makes the Request that runs are given out of a Provisioning and the site's settings, and the digests by which a later visit
// knows for what a run was started.
//
// Every function is pure: the same Provisioning and settings give the same Request. The reconciler and the kubectl plugin share it, so a dry
// run of `kubectl bpa hosts` decides as the controller does. It must not import either of them, nor a client.
package from
