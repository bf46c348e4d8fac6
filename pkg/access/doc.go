// Package access describes the users that BPA has in an application cluster: their names, keys,
// certificate requests, rights and kubeconfigs. Package access/cluster creates and removes them.
//
// Invariant: each user has a name that no other user ever had, and has its rights only through
// bindings of its own. Deleting these bindings therefore revokes exactly this user's kubeconfigs.
//
// This package is pure: it uses no client, no clock and no disk.
package access
