// Package server runs lab nodes as containers of runc alone, so that they outlive the bootstrap machine: those of package fleet are
// pods, which end with its kubelet. They have a bridge of their own, which is connected to that of the pods.
//
// Invariant: a server needs nothing of the bootstrap machine but a connection to its bridge. After a restore of the machine, Connect
// must be called again.
package server
