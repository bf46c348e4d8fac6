// Package layout defines every path, address and port of the bootstrap machine.
//
// Invariant: all state is below one root folder, so that removing this folder after `machine down`
// removes the machine. Only the mark of this folder is read and written here. The package imports
// only disk of this module.
package layout
