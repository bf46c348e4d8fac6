// Package software reconciles Softwares. It only writes their status, from the record that tasks store and
// from the state of the Provisioning. The reconciler of the Provisioning starts the runs, so that a run for
// Softwares never works beside another one of the cluster.
//
// Invariant: the same objects give the same status, so that a steady world causes no writes.
package software
