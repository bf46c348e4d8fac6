// Package inventory renders the inventory for kubespray from a request and its nodes: hosts.ini and
// the variables of all hosts.
//
// Invariant: every field is checked before it is written. For any request, the result holds exactly
// the request's nodes, groups and variables, or rendering fails. This package is pure: it uses no
// client, no clock and no disk, and the caller stores the result.
package inventory
