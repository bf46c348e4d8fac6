// Package configmap lets a task read and write keys of one ConfigMap that the reconciler made for it.
//
// Its invariant: it needs the rights get and update on that one name and no other; it never makes a ConfigMap, so none is left over
// without an owner.
package configmap
