// Package workspace reads what the reconciler and earlier tasks left for a task in its workspaces: mounted ConfigMaps, a file per key.
//
// Its invariant: a file that is missing, too long or for another Provisioning is an error that says so, never an empty answer. It imports
// no Kubernetes package.
package workspace
