// Package imaging gives hosts an operating system. It decides which hosts must get one, and writes
// into a BareMetalHost the fields that Metal3 needs for the installation. It waits for the
// installation. When a host is released, the package removes these fields again, so that Metal3
// deprovisions the host.
//
// Invariant: the package removes only fields that it has written, and restores their earlier
// values. Annotations of the host record the URL of the image that it has written, and the earlier
// values.
//
// Only the controller writes the fields that Put and TakeAway change. The account of select-hosts
// may not write them, because users of the namespace can act as that account
// (config/500-claims.yaml). The package does not decide who holds a host: package claim does.
package imaging
