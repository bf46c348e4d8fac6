// Package client is the client of a depot's public doors: its registry at /v2/ and its files at /files/.
//
// Its invariants: it connects to no other machine than the depot that it was given, whatever that answers, and it sends a token to that one
// alone. It must not import the depot itself nor Kubernetes.
package client
