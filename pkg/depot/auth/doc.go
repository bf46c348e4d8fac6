// Package auth authenticates and authorizes the requests at the depot's listeners. Handler requires
// a token for writes, and optionally for reads, and asks an Authorizer about it. ReadOnly serves an
// unencrypted listener: reads only, without a token. Local serves a socket file: every user who may
// open the file has all rights. Loopback serves a loopback address: writes need the machine's
// secret.
//
// Invariant: every request that is not certainly a read is a write, a write to an unknown path is
// refused, and the authorized path is the served path. Without a reachable Authorizer, writes fail
// and anonymous reads continue.
//
// The package must not import Kubernetes packages. Package auth/kubernetes imports them: it has the
// Authorizer that asks an API server.
package auth
