// Package renderinventory is the task render-inventory. From the request and the claimed nodes it
// renders the inventory that kubespray reads, and stores it.
//
// Invariant: a stored inventory has passed all checks of package inventory. This package imports no
// Kubernetes package.
package renderinventory
