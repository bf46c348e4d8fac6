// Package guard decides who may do what at the depot's doors. A Guard asks for a token before a write (and, if the site wants that, before
// a read) and lets a Reviewer judge it; ReadOnly and Local are doors that need no token: one for reading only, one for the machine itself.
//
// Invariant: what is not known to be a read is a write, a write that names no known thing is refused, and the path that is judged is the
// path that is served. A judge who cannot be reached stops writes, never anonymous reads.
//
// It must not import Kubernetes packages: package reviews is the Reviewer that does.
package guard
