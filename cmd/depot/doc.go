// Command depot serves the site's store over HTTP: an OCI registry and file
// downloads from one directory. It is a thin main over pkg/depot, and like it
// must not import Kubernetes or Knative packages.
package main
