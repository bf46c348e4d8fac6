// Package site gives tests and benchmarks one real site: a namespace of the bootstrap cluster with lab hosts in it, and the words to
// act on it as a person would (apply, wait, break, repair).
//
// Its invariant: every wait is a watch with a time limit, and a failed wait prints what the site looks like. Only tests import it.
package site
