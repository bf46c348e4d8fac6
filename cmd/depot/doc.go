// Command depot serves the site's store: an OCI registry and file downloads
// from one directory, through up to three doors: TLS with tokens, plain HTTP
// for reading, and the machine's own. It is a thin main over pkg/depot; only
// reviews of tokens know Kubernetes, and no typed client or Knative package
// may be imported.
package main
