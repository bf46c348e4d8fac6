// Package hosts describes the servers of a site: the facts of a host that the assignment and the
// inventory need, the holder of the host, and the address at which it is reached.
//
// Invariant: the same facts always give the same address, and an ambiguous address is an error that
// names the remedy. The package is pure: it imports package contract, but nothing of Kubernetes,
// Metal3 or the file system. Package facts translates Metal3's objects, and package assign chooses
// hosts.
package hosts
