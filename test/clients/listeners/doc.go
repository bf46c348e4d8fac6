// Package listeners gives tests a depot as its clients find it: the program of cmd/depot as a process with its three doors open, and a real API server
// that judges tokens, with the rights that config/ gives the depot.
//
// It needs etcd, kube-apiserver, kubectl and machine in $BPA_STATE/bin (make integration builds them). Its invariant: nothing of it outlives the
// test. Only tests import it.
package listeners
