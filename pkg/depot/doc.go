// Package depot is the site's store as one http.Handler: an OCI registry at
// /v2/, uploads by owner and cluster at /v1/, plain downloads with ranges and
// checksums at /files/, and /healthz and /readyz for whoever supervises it.
//
// What is below: artifact (names and records), store (bytes by digest, on disk
// or in S3), uploads (how they come in), archive (images out of an uploaded
// file), rest (/v1), status (what is installed), limits, scrub and garbage.
//
// Invariant: nothing outside the root directory and the bucket is ever read or
// written, and memory use does not depend on the size of what is stored.
//
// It asks nobody who they are: package guard does that, in front of it, and
// waits for each peer for ever: package deadline bounds that, around both. It
// must not import Kubernetes or Knative packages: the depot is built and
// started before there is a cluster.
package depot
