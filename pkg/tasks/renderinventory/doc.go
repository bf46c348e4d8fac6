// Package renderinventory is the task render-inventory: it renders what kubespray reads from the request and the claimed nodes, and stores it.
//
// Its invariant: what is stored has passed all checks of package inventory. It imports no Kubernetes package.
package renderinventory
