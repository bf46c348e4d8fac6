// Package tlscert manages the depot's certificate authority and its server certificates. The
// authority is created at the first start and kept for ten years. It signs server certificates when
// clients connect, and renews them while connections continue.
//
// Invariants: the authority's certificate permits only the depot's hosts, so a stolen key is
// useless for other servers. The authority's key, subject and validity never change unless an
// operator removes its file, since machines trust them. Its certificate is recreated when the hosts
// change. A machine with an earlier certificate of the authority can still use the names that the
// earlier certificate permits, since each server certificate has only the names that its client
// asked for.
//
// The package must not import Kubernetes packages, since the depot exists before a cluster does.
package tlscert
