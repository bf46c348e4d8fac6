// Package disk writes small files of the bootstrap machine, all or nothing.
//
// Invariant: a file that WriteFile has written survives a crash of the process or of the machine, and no reader sees
// an incomplete file. The package must not import other packages of this module.
package disk
