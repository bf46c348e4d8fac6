// Package assign chooses a host for every node that a request asks for, or explains why no
// assignment exists.
//
// The assignment is a flow problem. Nodes with equal requirements form one requirement class. A
// class with a spread has one capacity per topology domain, with a lower and an upper bound. The
// sets of hosts that can flow into classes form a matroid. The package therefore adds hosts one by
// one, first the hosts that the Provisioning already holds and then the cheapest, and the result is
// optimal (matching.go, augment.go). If a node cannot be placed, the augmenting search yields a
// smallest set of nodes that compete for too few hosts (conflict.go). A bounded search finds the
// number of hosts in the emptiest domain (search.go).
//
// Invariant: the same input always gives the same answer. If an assignment exists, it is found, or
// the answer says that the search gave up. The package is pure: it imports packages contract and
// hosts only.
package assign
