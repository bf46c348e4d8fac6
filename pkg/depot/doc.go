// Package depot is the site's store as one http.Handler: an OCI registry at /v2/, uploads by owner
// and cluster at /v1/, plain downloads with ranges and checksums at /files/, and the probes
// /healthz and /readyz.
//
// Packages below: protocol (names, records, headers), registry (/v2), rest (/v1), files (/files),
// store (bytes by digest, on disk or in S3), uploads (uploads in pieces), archive (images in an
// uploaded file), packages (the list of binary packages), limits, scrub and garbage.
//
// Invariant: the depot never reads or writes anything outside the root directory and the bucket,
// and its memory use does not depend on the size of the stored content.
//
// The handler does not authenticate clients: wrap it with package auth. Then wrap the result with
// package deadline, because packages depot and auth wait for slow clients without a time limit. The
// package must not import Kubernetes or Knative packages, because the depot is built and started
// before a cluster exists.
package depot
