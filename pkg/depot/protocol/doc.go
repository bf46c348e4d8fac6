// Package protocol holds the depot's wire protocol, which the server, its authorization and its
// clients share: the paths of /v1 and /files, the names of reserved repositories, the records of
// uploads, and the headers for checksums and create-only requests.
//
// Invariant: two different artifacts never share a repository, so an upload of one owner cannot
// hide or replace an upload of another. The package does no input or output and imports only the
// standard library.
package protocol
