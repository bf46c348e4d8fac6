// Package assign chooses a host for every node that a request asks for, or explains why no
// assignment exists.
//
// The assignment is a flow problem. Nodes with equal requirements form one class. A class with a
// spread has a lower and an upper limit for the number of hosts in each topology domain. A bounded
// search tries different limits (search.go). For given limits, the package adds hosts one by one:
// first the hosts that the Provisioning already holds, and then the cheapest. The result is
// optimal, because the sets of hosts that can flow into classes form a matroid (matching.go,
// augment.go). If a node cannot be placed, the augmenting search yields a smallest set of nodes
// that compete for too few hosts (conflict.go).
//
// Invariant: the same input always gives the same answer. If an assignment exists, it is found, or
// the answer says that the search gave up. The package is pure: it imports only the packages
// contract and hosts.
package assign
