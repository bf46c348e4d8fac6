// Package target stores the backups of the bootstrap machine: in a folder, in an S3 bucket, or as artifacts in an OCI
// registry.
//
// Invariants: a target lists a file only after it was stored whole. No error and no address contains a credential. The
// package knows neither the format of a backup nor the state folder, and must not import other packages of this module.
package target
