// Package debian finds the Debian packages that a bundle carries for the nodes' operating system: where there is Internet, by the real apt-get
// with a state of its own; out of a depot, by the index of its package source.
//
// Its invariants: nothing of this machine's package state is read or changed, and no root is needed; what apt-get fetches, it has verified by
// the keys of the distribution. A package in a bundle is a plain file, apt/SYSTEM/NAME_VERSION_ARCHITECTURE.deb.
package debian
