// Package change plans how an installed cluster becomes the cluster that its Provisioning requests.
// Plan compares both and returns the operations in their order. Each operation has a request of its
// own, in which everything is as installed except what this operation changes. After each run the
// controller plans again from the record that the run has written, so that an edit, a failed run or
// a lost record only changes what is planned next.
//
// The package is pure: no client, no clock, no disk.
package change
