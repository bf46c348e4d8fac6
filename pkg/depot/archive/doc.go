// Package archive imports the images of an uploaded archive into the registry, under the names that
// the archive gives them. It reads the form of docker save and OCI layouts, as tar, tar.gz or
// tar.zst, and imports every platform in them.
//
// Invariant: an archive is imported completely or not at all. It is read in several passes, so
// memory does not depend on its size. File names in an archive are only keys for lookups; they
// never decide where the depot writes.
package archive
