// Package pack writes tar archives whose bytes depend on their content alone: entries in order, no times, no owners but
// those asked for. So an unchanged input gives an unchanged layer digest, and the depot has it already.
//
// It reads files and writes one archive; it knows nothing of images, registries or Kubernetes.
package pack
