// Package layout defines every path, address and port of the bootstrap machine.
//
// Invariant: all state is below one root folder, so that removing this folder after `machine down`
// removes the machine. The package is pure: it must not import other packages of this module or
// access the disk.
package layout
