// Package stamp remembers what was made from which inputs, so that nothing is built or packed twice.
//
// Its one invariant: a stamp is written only after its outputs are complete. A run killed half-way therefore makes the
// thing again; it never trusts a torn file. Keys are cheap (size and time of large files, content of small ones), for a
// warm run must take seconds. It imports nothing of the project.
package stamp
