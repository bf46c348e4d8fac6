// Package server runs lab nodes as containers of runc alone, so that they outlive the bootstrap machine: those of package fleet are
// pods, which end with its kubelet. They are on a network of their own, to which the machine has a link, as to that of a site.
//
// Invariant: a server needs nothing of the bootstrap machine but its address on that network.
package server
