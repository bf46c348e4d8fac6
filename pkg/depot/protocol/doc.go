// Package protocol names what people upload to the depot: an owner's cluster
// has binary packages, OS images and container image archives, each with a
// record of ICN's shape.
//
// Invariant: two different artifacts never share a repository, so nothing that
// one owner uploads can hide or replace what another one did. It is pure.
package protocol
