// Package client is the client of a depot: of its registry at /v2/, its artifacts at /v1/ and its
// files at /files/.
//
// Invariants: the client connects only to the depot's address, whatever the depot answers, and
// sends a token only there. The package must not import the depot itself or Kubernetes.
package client
