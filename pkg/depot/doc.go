// Package depot is the site's store as one http.Handler: an OCI registry at
// /v2/, plain downloads with ranges and checksums at /files/, and /healthz and
// /readyz for whoever supervises it.
//
// Invariant: nothing outside the root directory is ever read or written, and
// memory use does not depend on the size of what is stored.
//
// It asks nobody who they are, and lets everybody write: package guard decides
// what gets here, and package tlscert makes the identity for TLS.
//
// It must not import Kubernetes or Knative packages: the depot is built and
// started before there is a cluster.
package depot
