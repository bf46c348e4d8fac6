// Package apt serves each folder files/apt/SYSTEM of the depot as a flat Debian repository. It
// reads the packages (.deb) that users put there, and generates Packages, Packages.gz, Release and
// by-hash/SHA256/* from them when a client asks for one of these. It signs each Release with a key
// of the depot (InRelease, Release.gpg), so that nodes accept no other index.
//
// Invariant: the same folder gives the same index, and every file that a Release names stays
// available for as long as a node takes to read it. The private key never leaves the depot's root. Packages are treated as hostile input: the
// memory and time to read a package are bounded.
//
// The package must not import package depot, because package depot imports it.
package apt
