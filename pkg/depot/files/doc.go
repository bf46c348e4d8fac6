// Package files serves /files/: downloads of plain files, of artifacts and of the apt source, with
// ranges and SHA-256 checksums, and uploads of plain files.
//
// Invariant: an upload becomes visible completely or not at all, and no path leads out of the
// folder of plain files, not even through a symbolic link.
package files
