// Package inventory renders what kubespray reads: hosts.ini and the variables of all hosts, from a request and its nodes.
//
// Its invariant: every field is checked before it is written, so whatever a request holds, the result names exactly its nodes, groups and
// variables, or it is an error. It is pure: no client, no clock, no disk (package store keeps the result).
package inventory
