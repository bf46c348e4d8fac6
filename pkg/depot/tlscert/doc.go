// Package tlscert is the depot's identity: an authority of its own that is made at first start and kept for ten years, and a server
// certificate that it signs and renews while connections go on.
//
// Invariant: a certificate is on disk before a client sees it, with its key in the same file, so that no crash parts the two. The
// authority is never replaced unasked: machines trust it.
//
// It must not import Kubernetes packages: the depot is there before a cluster is.
package tlscert
