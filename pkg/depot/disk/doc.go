// Package disk writes small files on the depot's own disk, all or nothing, and detects whether a
// file has changed since it was last read. Packages depot, registry, files and apt share it.
//
// Invariant: a file that WriteFile has written survives a crash of the process or of the machine,
// and no reader sees an incomplete file.
package disk
