// Package layout names every path, address and port of the bootstrap machine.
//
// Invariant: all state lies below one root, so that removing the root (after `machine down`) removes the machine.
// It is pure: it must not import anything of this module nor touch the disk.
package layout
