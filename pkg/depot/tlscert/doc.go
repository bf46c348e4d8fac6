// Package tlscert is the depot's identity: an authority of its own that is made at first start and kept for ten years, and server
// certificates that it signs when they are asked for and renews while connections go on.
//
// Invariants: the authority's certificate lets it sign for the depot's hosts and nobody else, so that its key is worth nothing elsewhere to a
// thief. Its key, subject and life are never changed unasked: machines trust them. Its certificate is made anew when the hosts change, and
// who holds an earlier one goes on with the names of that one, since each certificate for a server names what its client asked for alone.
//
// It must not import Kubernetes packages: the depot is there before a cluster is.
package tlscert
