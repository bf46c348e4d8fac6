// Package disk writes small files on the depot's own disk, all or nothing, and detects whether a file changed since
// it was last read.
//
// Invariant: a file that WriteFile has written survives a crash of the process or of the machine, and is never seen
// half-written. The registry, the files handler and the bucket lease share this package.
package disk
