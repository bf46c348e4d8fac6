// Package client is the client of a depot: of its registry at /v2/, its artifacts at /v1/ and its
// files at /files/.
//
// Invariants: it connects only to the depot's address, whatever the depot answers, and it sends a
// token only there. It must not import the depot itself or Kubernetes.
package client
