// Package renderinventory is the task render-inventory. It renders the inventory that kubespray
// reads, from the request and the claimed nodes, and stores the inventory.
//
// Invariant: a stored inventory has passed all checks of package inventory. This package imports no
// Kubernetes package.
package renderinventory
