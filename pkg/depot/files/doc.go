// Package files serves /files/: downloads of plain files, of artifacts and of the apt source, with
// ranges and SHA-256 checksums, and uploads of plain files.
//
// Invariant: an upload becomes visible completely or not at all, and no path, also through a
// symbolic link, leads out of the folder.
package files
