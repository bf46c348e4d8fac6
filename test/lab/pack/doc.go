// Package pack writes reproducible tar archives. Their bytes depend only on the order of the
// entries and on the name, mode and content of each. Times and owners have no effect.
//
// Invariant: the same input gives the same layer digest, so that a layer that the depot has is not
// pushed again. The package must not depend on images, registries or Kubernetes.
package pack
