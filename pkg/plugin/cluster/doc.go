// Package cluster applies the objects of plugins in an application cluster, waits until they are ready,
// tests them and removes them.
//
// Each plugin has an inventory in the cluster: a ConfigMap with the objects that BPA has applied. An
// object is in the inventory before it is applied, and leaves it after it is gone.
//
// Invariants: the package changes and deletes only objects with the plugin's label (contract.LabelPlugin),
// except that it creates objects that do not exist. It deletes only objects that the inventory lists. It
// never deletes a CRD while objects of its kind exist, nor a namespace with objects of others in it.
// Nothing waits by polling, except for the few seconds in which the API server begins to serve a new kind.
package cluster
