// Package transfer brings images and files from where they are (upstream, a bundle, another depot) into a depot.
//
// Its invariants: nothing becomes visible before all of it is there and has the digest that was promised; what the depot has, by digest, is
// not sent again, so a carrying that was cut off goes on where it was; memory does not depend on the size of what is carried. It writes
// through the depot's public doors alone.
package transfer
