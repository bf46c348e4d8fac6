// Package selecthosts is the task select-hosts. It claims a host for every node that a request asks
// for. It waits until Metal3 has installed an operating system on hosts without one. Then it stores
// which host each node has.
//
// Invariants: after a failure, the task releases the hosts that it has claimed, but no host that
// was claimed before the run. It cannot release hosts to which the controller has assigned an
// image: it marks them, and the controller releases them. The task changes nothing of a host except
// its claim.
//
// Package hosts/assign decides which hosts fit, hosts/claim decides which are claimed, and
// hosts/imaging decides whether an operating system is installed. This package imports nothing of
// Tekton or knative.
package selecthosts
