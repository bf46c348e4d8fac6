// Package files serves /files/: downloads of plain files, of uploaded artifacts and of the apt source, with ranges and
// SHA-256 checksums, and uploads of plain files.
//
// Invariant: an upload is published whole or not at all, and no path leads out of the folder, symbolic links included.
package files
