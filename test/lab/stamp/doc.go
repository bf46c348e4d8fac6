// Package stamp records the inputs of artifacts, so that an artifact is built again only if its
// inputs change.
//
// Invariant: a stamp is written only after all outputs are complete. An interrupted build is
// therefore repeated, and an incomplete file is never used. Keys are fast to compute (size and
// modification time of large files, content of small ones), because a run without changes must take
// seconds. The package must not import other packages of the project.
package stamp
