// Package debian finds the Debian packages that a bundle contains for the nodes' operating system.
// With an Internet connection, the real apt-get finds them with its own state. In a depot, the
// index of the depot's package source lists them.
//
// Invariants: the package neither reads nor changes this machine's package state, and needs no
// root. apt-get verifies the packages that it fetches with the keys of the distribution. A package
// in a bundle is a plain file, apt/SYSTEM/NAME_VERSION_ARCHITECTURE.deb.
package debian
