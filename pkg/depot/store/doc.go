// Package store stores content by its digest. It uses the registry library and the storage drivers
// of the distribution project. The registry and the uploads share one driver, on a disk or in an S3
// bucket.
//
// Invariant: acknowledged content survives the end of the process at any moment. On a disk it
// survives the end of the machine too.
package store
