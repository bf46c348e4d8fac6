// Package rest serves the depot's /v1 API. For uploads, it has the paths and the record of ICN, and
// clients can resume an upload as in ICN or by tus 1.0. It also serves lists, downloads, and the
// installation status of clusters. openapi.json describes the API, and the API serves that file.
//
// Invariant: the content of an artifact is never held in memory. Only metadata is held in memory,
// and its size is bounded.
package rest
