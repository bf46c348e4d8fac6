// Package rest is the depot's /v1 door: ICN's paths and record for uploads,
// with resumption both in ICN's way and by tus 1.0, lists, downloads, and the
// installation status of clusters. openapi.json describes it and is served.
//
// Invariant: no body is ever held in memory; only metadata is, and that is
// bounded.
package rest
