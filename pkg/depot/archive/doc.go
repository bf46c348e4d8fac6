// Package archive brings the images of an uploaded archive into the registry,
// under the names that the archive gives them: docker save's form and OCI
// layouts, as tar, tar.gz or tar.zst, with every platform that is in it.
//
// Invariant: an archive is taken whole or not at all. It is read in passes, so
// that memory does not depend on its size, and nothing in it decides where
// anything is written: names only look things up.
package archive
