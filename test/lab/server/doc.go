// Package server runs lab nodes as containers of runc alone, so that they outlive the bootstrap machine: those of package fleet are
// pods, which end with its kubelet. They have a bridge of their own, which is connected to that of the pods.
//
// Invariant: nothing here is of the bootstrap machine but the bridge, which Connect expects again after the machine was made anew.
package server
