// Package store stores content by its digest. The registry and the uploads share one storage driver
// of the distribution project, on a disk or in an S3 bucket.
//
// Invariant: acknowledged content survives the end of the process at any moment. On a disk it
// survives the end of the machine too.
package store
