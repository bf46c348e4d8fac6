// Package pack writes tar archives that are reproducible: their bytes depend only on names, modes
// and contents of the entries, in the given order, and not on times and owners.
//
// Invariant: the same input gives the same layer digest, so that a layer that the depot has is not
// pushed again. The package must not depend on images, registries or Kubernetes.
package pack
