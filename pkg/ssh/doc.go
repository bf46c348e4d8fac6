// Package ssh is what the tasks need of SSH: a connection with a time limit and a pinned host key, a command's output, a tunnel, and the
// list of pinned keys.
//
// Its invariant: no connection is made without looking at the host's key; only the first contact with a host accepts any. Errors of a
// connection are ErrUnreachable, ErrDenied or a *KeyChangedError. It imports no Kubernetes package.
package ssh
