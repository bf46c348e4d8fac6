// Package server runs lab nodes as containers of runc alone, so that they outlive the bootstrap machine: those of package fleet are
// pods, which end with its kubelet. A link connects each to the bridge of the pods.
//
// Invariant: nothing here is of the bootstrap machine but the bridge, which Connect expects again after the machine was made anew.
package server
