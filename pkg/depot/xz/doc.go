// Package xz unpacks xz files with a bounded amount of memory. The reader of the library for whole
// files allocates the memory that the header of a block asks for, up to 4 GiB. This package uses the
// library for the content of the blocks only.
//
// The package does not compare the checksums of an xz file: the depot compares the SHA-256 of the
// packed file. It must not import other packages of the depot.
package xz
