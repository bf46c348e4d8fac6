// Package hosts decides which host becomes which node: what is known of a host, the assignment of hosts to slots, the explanation when
// there is none, and the address by which a host is reached.
//
// Its invariant: the same input always gives the same answer, and an assignment is found whenever one exists. It is pure: it imports
// package contract and nothing of Kubernetes, Metal3 or the file system (package facts translates).
package hosts
