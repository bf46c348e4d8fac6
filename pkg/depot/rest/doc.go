// Package rest serves the depot's /v1 API. It has ICN's paths and record for uploads, which clients
// can resume in ICN's way and by tus 1.0. It also has lists, downloads, and the installation status
// of clusters. openapi.json describes the API, and the API serves that file.
//
// Invariant: the content of an artifact is never held in memory. Only metadata is, and its size is
// bounded.
package rest
