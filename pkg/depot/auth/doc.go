// Package auth decides who may do what at the depot's doors. A Handler asks for a token before a write (and, if the site wants that, before
// a read) and lets a Authorizer judge it. ReadOnly is a door for reading only and Local one for who may open a socket file: they need no token.
// Loopback is one for all users of the machine, who need its secret to write.
//
// Invariant: what is not known to be a read is a write, a write that names no known thing is refused, and the path that is judged is the
// path that is served. A judge who cannot be reached stops writes, never anonymous reads.
//
// It must not import Kubernetes packages: package reviews is the Authorizer that does.
package auth
