// Command depot serves the site's store, an OCI registry and file downloads from one directory. It
// has up to three listeners: TLS with tokens, plain HTTP for reads, and a local listener for
// programs on the same machine. A fourth listener answers health probes only.
//
// The command is a thin main over pkg/depot. It uses Kubernetes only to review tokens, and must not
// import a typed client or a Knative package.
package main
