// Package apt makes each folder files/apt/SYSTEM of the depot a flat Debian repository: it reads the packages (.deb) that people put there,
// and generates Packages, Packages.gz, Release and by-hash/SHA256/* from them when somebody asks.
//
// Invariant: the same folder gives the same bytes, and whatever a Release names can be had for as long as a node takes to read it. Packages
// are read as if an enemy had made them: memory and time for one of them are bounded.
//
// It must not import package depot, which imports it.
package apt
