// Package debian finds the Debian packages that a bundle contains for the nodes' operating system.
// For a bundle from the Internet, it runs apt-get with a state that is separate from this machine's
// package state. For a bundle from a depot, it reads the index of the depot's package source.
//
// Invariants: the package neither reads nor changes this machine's package state, and runs without
// root. apt-get verifies the packages that it fetches with the keys of the distribution. A Debian
// package in a bundle is a plain file, apt/SYSTEM/NAME_VERSION_ARCHITECTURE.deb.
package debian
