// Package store holds bytes by their digest: one storage driver of the
// distribution project, on a disk or in an S3 bucket, that the registry and
// the uploads share.
//
// Invariant: what has been acknowledged survives the end of the process at any
// moment and, on a disk, that of the machine.
package store
