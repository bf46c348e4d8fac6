// Package etcd asks the etcd of an application cluster with etcdctl on a control plane, and decides which of
// its members can be missed.
//
// Invariant: a question changes nothing. Only Client.Remove changes the members. The decisions (Spare, Removal) are
// pure. The package imports no Kubernetes client.
package etcd
