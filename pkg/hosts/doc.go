// Package hosts decides which host becomes which node: what is known of a host, the assignment of hosts to slots and sets, the explanation when
// there is none, and the address by which a host is reached.
//
// An assignment is a flow. Places that ask for the same make a bin; a bin that is to be spread has a node for each domain, bounded from below and
// above. The hosts that can flow into places together form a matroid, so that bringing them in one by one, those first that we hold and then the
// cheapest, gives the best of all (matching.go, augment.go). What cannot flow shows a smallest set of nodes that want too few hosts (circuit.go).
// How many hosts the emptiest domain has is tried out, within a bound (search.go).
//
// Its invariant: the same input always gives the same answer, and an assignment is found whenever one exists, or it says that it gave up. It is
// pure: it imports package contract and nothing of Kubernetes, Metal3 or the file system (package facts translates).
package hosts
