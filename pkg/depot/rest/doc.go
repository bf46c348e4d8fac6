// Package rest serves the depot's /v1 API. Uploads have the same paths and the same record as in
// ICN. Clients can resume an upload in ICN's way or by the tus 1.0 protocol. The API also serves
// lists, downloads, and the installation status of clusters, which comes from Kubernetes.
// openapi.json describes the API, and the API serves that file.
//
// Invariant: the content of an artifact is never held in memory. Only metadata is held in memory,
// and its size is bounded.
package rest
