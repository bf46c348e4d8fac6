// Package transfer copies images and files from a source (upstream, a bundle, another depot) into a
// depot.
//
// Invariants: an artifact becomes visible only when it is complete and has the expected digest.
// Content that the depot has, by digest, is not sent again, so an interrupted transfer resumes
// where it stopped. The use of memory does not depend on the size of the content. The package
// writes only through the depot's public endpoints.
package transfer
