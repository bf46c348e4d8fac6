// Package ssh is an SSH client for tasks: a connection with a time limit and a pinned host key, the
// output of a command, a tunnel, and the list of pinned keys.
//
// Invariants: every connection verifies the host's key; only the first contact with a host accepts
// any key. Errors of a connection are ErrUnreachable, ErrDenied or a *KeyChangedError. This package
// imports no Kubernetes package.
package ssh
