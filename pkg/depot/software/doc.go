// Package software reads the Softwares of a cluster from the Kubernetes API server, for the installation
// status at /v1.
//
// Invariant: it only reads, keeps nothing, and uses a bounded amount of memory. It returns only objects of
// namespaces that the caller of the request may read.
//
// The package decodes plain JSON over client-go's transport. The API types and the generated client would
// make the program several times as big.
package software
